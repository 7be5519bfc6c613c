// Record files: JSON Lines of {id, system?, question, answer}.
//
// Separate because a record is refused for its line, before anyone asks what it says.

package hexapla.trainer;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** Reads record files. */
final class Records {
    /** One question with its answer; `system` may be null. */
    record Entry(String id, String system, String question, String answer) {}

    private Records() {}

    /** Hand every record of a file on, in order. A refused line ends it with the line's number. */
    static void forEach(String file, Consumer<Entry> action) {
        Path path = Path.of(file);
        Set<String> ids = new HashSet<>();
        try (InputStream stream = Files.newInputStream(path)) {
            Lines lines = new Lines(stream, Integer.MAX_VALUE - 64);
            while (lines.advance()) {
                String where = file + ":" + lines.number;
                Entry entry = read(lines, where);
                if (!ids.add(entry.id)) {
                    throw new Failure("record", where, "id " + Json.quote(entry.id) + " occurs twice");
                }
                action.accept(entry);
            }
        } catch (IOException error) {
            throw SmallFiles.failure(path, error);
        }
    }

    private static Entry read(Lines lines, String where) {
        Object value;
        try {
            value = Json.parse(lines.bytes, lines.length);
        } catch (Json.Malformed error) {
            throw new Failure("record", where, error.getMessage());
        }
        if (!(value instanceof Map<?, ?> members)) {
            throw new Failure("record", where, "not a JSON object");
        }
        return new Entry(
                text(members, "id", where),
                members.containsKey("system") ? text(members, "system", where) : null,
                text(members, "question", where),
                text(members, "answer", where));
    }

    private static String text(Map<?, ?> members, String key, String where) {
        if (members.get(key) instanceof String text) {
            return text;
        }
        String problem = members.containsKey(key) ? " is not a string" : " is missing";
        throw new Failure("record", where, key + problem);
    }
}
