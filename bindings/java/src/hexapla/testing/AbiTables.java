// Structs, handle aliases and constants as this binding declares them.
//
// Separate because they go out by the `abi` request alone, to be held against C; nothing here may be read from C.

package hexapla.testing;

import hexapla.sys.Constants;
import hexapla.sys.Structs;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Field;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The declarations as values. */
public final class AbiTables {
    /**
     * A type of the headers.
     *
     * @param size   in bytes
     * @param align  in bytes
     * @param fields offset and size of each, by name; empty for an alias
     */
    public record Type(long size, long align, Map<String, List<Long>> fields) {}

    private AbiTables() {}

    /** {@return the ABI version that this binding was written for} */
    public static int version() {
        return Constants.HXP_ABI_VERSION;
    }

    /** {@return every struct and alias by its C name} */
    public static Map<String, Type> types() {
        Map<String, Type> types = new LinkedHashMap<>();
        for (StructLayout struct : Structs.ALL) {
            types.put(struct.name().orElseThrow(), type(struct, fields(struct)));
        }
        for (String handle : List.of("context", "tensor", "tape", "gate", "checkpoint", "tokenizer")) {
            types.put("hxp_" + handle, type(ValueLayout.JAVA_LONG, Map.of()));
        }
        types.put("hxp_status", type(ValueLayout.JAVA_INT, Map.of()));
        types.put("hxp_pressure_hook", type(ValueLayout.ADDRESS, Map.of()));
        return types;
    }

    /** {@return every constant by its C name} */
    public static Map<String, Integer> constants() {
        Map<String, Integer> constants = new LinkedHashMap<>();
        for (Field field : Constants.class.getFields()) {
            try {
                constants.put(field.getName(), field.getInt(null));
            } catch (IllegalAccessException impossible) {
                throw new IllegalStateException(impossible);
            }
        }
        return constants;
    }

    private static Type type(MemoryLayout layout, Map<String, List<Long>> fields) {
        return new Type(layout.byteSize(), layout.byteAlignment(), fields);
    }

    private static Map<String, List<Long>> fields(StructLayout struct) {
        Map<String, List<Long>> fields = new LinkedHashMap<>();
        for (MemoryLayout member : struct.memberLayouts()) {
            String name = member.name().orElseThrow();
            fields.put(name, List.of(Structs.offset(struct, name), member.byteSize()));
        }
        return fields;
    }
}
