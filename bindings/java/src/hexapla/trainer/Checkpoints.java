// Checkpoints of a run: written whole or not at all, and read back.
//
// Separate because what lies on disk is a format of its own that every other trainer resumes from. The folder becomes final by one
// rename.

package hexapla.trainer;

import hexapla.Checkpoint;
import hexapla.HexaplaException;
import hexapla.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Map;
import java.util.stream.Stream;

/** Saves into one output folder. */
final class Checkpoints {
    private final Path output;
    private final Path adapterConfig;
    private final Spec spec;
    private final String specDigest;

    Checkpoints(TrainRequest request) {
        output = Path.of(request.output());
        adapterConfig = Path.of(request.adapter(), Adapter.CONFIG);
        spec = request.spec();
        specDigest = request.specDigest();
    }

    /** Whether a run that ends at `last` saves after update k. */
    boolean due(long k, long last) {
        return k % spec.saveEvery() == 0 || k == spec.updates() || k == last;
    }

    /** Make the folder that checkpoints go to. */
    void makeOutput() {
        try {
            Files.createDirectories(output);
        } catch (IOException error) {
            throw SmallFiles.failure(output, error);
        }
    }

    /** Make the folder; refuse a run of updates start+1 … last that would meet an existing checkpoint. */
    void prepare(long start, long last) {
        makeOutput();
        for (long k = start + 1; k <= last; k++) {
            if (due(k, last) && Files.exists(folder(k))) {
                throw Failure.io(folder(k).toString(), folder(k) + " exists already: choose another output or remove it");
            }
        }
    }

    Path folder(long k) {
        return output.resolve(String.format("checkpoint-%06d", k));
    }

    /** Save the state after update k. */
    Path save(long k, Trainable trainable) {
        Path folder = folder(k);
        Path partial = folder.resolveSibling(folder.getFileName() + ".partial");
        try {
            remove(partial);
            Files.createDirectory(partial);
            Checkpoint.write(partial + "/" + Adapter.FILE, trainable.adapter.tensors(), Map.of());
            Files.copy(adapterConfig, partial.resolve(Adapter.CONFIG));
            Map<String, String> metadata = Map.of("update", Long.toString(k), "spec_digest", specDigest);
            Checkpoint.write(partial + "/" + Trainable.OPTIMIZER_FILE, trainable.moments(), metadata);
            Checkpoint.commit(partial.toString(), folder.toString());
            return folder;
        } catch (IOException error) {
            throw SmallFiles.failure(partial, error);
        }
    }

    private static void remove(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> found = Files.walk(folder)) {
            for (Path path : found.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    /** The update that a checkpoint was saved after; refused when it is of another specification. */
    static long updateOf(String checkpoint, String specDigest) {
        String path = checkpoint + "/" + Trainable.OPTIMIZER_FILE;
        try (Checkpoint file = Checkpoint.open(path)) {
            String digest = metadata(file, "spec_digest", path);
            if (!digest.equals(specDigest)) {
                throw Failure.checkpoint(path, path + ": spec_digest is " + digest + ", this run's is " + specDigest);
            }
            String update = metadata(file, "update", path);
            if (!update.matches("[0-9]{1,15}")) {
                throw Failure.checkpoint(path, path + ": update is " + Json.quote(update) + ", must be a number");
            }
            return Long.parseLong(update);
        }
    }

    private static String metadata(Checkpoint file, String key, String path) {
        try {
            return file.metadata(key);
        } catch (HexaplaException missing) {
            if (missing.status() == Status.NOT_FOUND) {
                throw Failure.checkpoint(path, path + ": its metadata has no " + key);
            }
            throw missing;
        }
    }
}
