// A checkpoint's names and shapes against those that must be there.
//
// Separate because model, adapter and optimizer are refused alike: with counts and the first names, before anything is read.

package hexapla.trainer;

import hexapla.CheckpointEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Compares sets of tensors. */
final class TensorSet {
    private static final int NAMES_SHOWN = 3;

    private TensorSet() {}

    /** Refuse a checkpoint at `where` that holds another set than `expected`. */
    static void require(List<CheckpointEntry> entries, Map<String, long[]> expected, String where) {
        Map<String, long[]> found = new LinkedHashMap<>();
        entries.forEach(entry -> found.put(entry.name(), entry.shape()));
        List<String> missing = new ArrayList<>();
        List<String> otherShape = new ArrayList<>();
        expected.forEach((name, shape) -> {
            long[] stored = found.remove(name);
            if (stored == null) {
                missing.add(name);
            } else if (!Arrays.equals(stored, shape)) {
                otherShape.add(name + " " + Arrays.toString(stored) + " for " + Arrays.toString(shape));
            }
        });
        List<String> problems = new ArrayList<>();
        describe(problems, "missing", missing);
        describe(problems, "unexpected", List.copyOf(found.keySet()));
        describe(problems, "other shape", otherShape);
        if (!problems.isEmpty()) {
            throw Failure.checkpoint(where, where + ": " + String.join("; ", problems));
        }
    }

    private static void describe(List<String> problems, String what, List<String> names) {
        if (!names.isEmpty()) {
            String more = names.size() > NAMES_SHOWN ? ", …" : "";
            String shown = String.join(", ", names.subList(0, Math.min(NAMES_SHOWN, names.size())));
            problems.add(what + " " + names.size() + " (" + shown + more + ")");
        }
    }
}
