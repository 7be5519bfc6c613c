// The `abi` request: structs, handle aliases and constants as this binding declares them.
//
// Separate because nothing here may be read from C: the harness holds it against C.

package hexapla.trainer;

import hexapla.testing.AbiTables;
import java.util.LinkedHashMap;
import java.util.Map;

/** Sends the declarations. */
final class Abi {
    private Abi() {}

    static void answer(Keys keys, Events events) {
        keys.finish();
        Map<String, Object> types = new LinkedHashMap<>();
        AbiTables.types().forEach((name, type) -> types.put(
                name, Events.members("size", type.size(), "align", type.align(), "fields", type.fields())));
        events.send("abi", "abi_version", AbiTables.version(), "types", types, "constants", AbiTables.constants());
        events.done();
    }
}
