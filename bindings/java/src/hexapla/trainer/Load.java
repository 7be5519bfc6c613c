// The `load` request: every tensor of a model with its digest.
//
// Separate because it reads one tensor at a time: a model is checked in the memory of its largest matrix.

package hexapla.trainer;

import hexapla.Checkpoint;
import hexapla.CheckpointEntry;
import hexapla.Context;
import hexapla.Tensor;
import java.util.Arrays;
import java.util.List;

/** Names, shapes and digests. */
final class Load {
    private Load() {}

    static void answer(Keys keys, Events events) {
        ContextChoice choice = ContextChoice.parse(keys);
        String folder = keys.path("model");
        keys.finish();
        ModelConfig config = ModelConfig.read(folder);
        long parameters = 0;
        List<CheckpointEntry> entries;
        try (Context context = choice.open();
                Checkpoint file = Checkpoint.open(folder)) {
            // In the order of the names' bytes, as the reader lists them.
            entries = Model.checked(file, config, folder, context);
            for (CheckpointEntry entry : entries) {
                try (Tensor tensor = file.read(entry.name(), context)) {
                    List<Long> shape = Arrays.stream(entry.shape()).boxed().toList();
                    events.send("tensor", "name", entry.name(), "shape", shape, "dtype", entry.dtype(),
                            "digest", Tensor.digest(List.of(tensor)));
                }
                parameters += entry.elements();
            }
        }
        events.done("tensors", entries.size(), "parameters", parameters);
    }
}
