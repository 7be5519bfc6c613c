// Values: what goes to the device comes back, forward, backward, optimizer, files.

import hexapla.AdamW;
import hexapla.Checkpoint;
import hexapla.CheckpointEntry;
import hexapla.Context;
import hexapla.Ops;
import hexapla.Optimizer;
import hexapla.Status;
import hexapla.Tape;
import hexapla.Tensor;
import hexapla.TensorInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.stream.Stream;

/** Tests of tensors, ops, the optimizer and checkpoints. */
final class ValueTests {
    private ValueTests() {}

    public static void viewsKnowTheirStrides() {
        try (Context context = HandleTests.context();
                Tensor x = Tensor.of(context, new float[] {1, 2, 3, 4, 5, 6}, 3, 2);
                Tensor transposed = Ops.transpose(null, x)) {
            TensorInfo info = transposed.info();
            Checks.equal(info.shape(), new long[] {2, 3});
            Checks.equal(info.strides(), new long[] {1, 2});
            Checks.equal(transposed.read(), new float[] {1, 3, 5, 2, 4, 6});
        }
    }

    public static void moreThanABlockGoesThrough() {
        float[] values = new float[100_000];
        for (int i = 0; i < values.length; i++) {
            values[i] = i;
        }
        try (Context context = HandleTests.context();
                Tensor tensor = Tensor.of(context, values, values.length)) {
            Checks.equal(tensor.read(), values);
        }
    }

    public static void clipAndAdamWFollowTheSpec() {
        try (Context context = HandleTests.context();
                Tensor one = Tensor.of(context, new float[] {3, 0}, 2);
                Tensor other = Tensor.of(context, new float[] {0, 4}, 2)) {
            List<Tensor> gradients = List.of(one, other);
            double norm = Optimizer.norm(gradients);
            Checks.equal(norm, 5.0);
            Checks.holds(Optimizer.clip(gradients, norm, 1), "was not clipped");
            Checks.equal(one.read(), new float[] {0.6f, 0});
        }
        try (Context context = HandleTests.context();
                Tensor p = Tensor.of(context, new float[] {1}, 1);
                Tensor g = Tensor.zeros(context, 1);
                Tensor m = Tensor.zeros(context, 1);
                Tensor v = Tensor.zeros(context, 1)) {
            Optimizer.adamw(
                    new AdamW(1, 0.01, 0.9, 0.999, 1e-8, 0.1), List.of(p), List.of(g), List.of(m), List.of(v));
            Checks.equal(p.read(), new float[] {0.999f});
        }
    }

    public static void gradientsAddUp() {
        try (Context context = HandleTests.context();
                Tape tape = Tape.open(context);
                Tensor x = Tensor.of(context, new float[] {1, 2}, 2);
                Tensor gradient = Tensor.zeros(context, 2)) {
            tape.watch(x, gradient);
            for (int turn = 0; turn < 2; turn++) {
                try (Tensor doubled = Ops.scale(tape, x, 2)) {
                    tape.backward(doubled, null);
                }
            }
            Checks.equal(gradient.read(), new float[] {4, 4});
        }
    }

    public static void checkpointsComeBack() throws Exception {
        Path folder = Files.createTempDirectory("hexapla-java-");
        try (Context context = HandleTests.context();
                Tensor b = Tensor.of(context, new float[] {1, 2}, 2, 1);
                Tensor a = Tensor.of(context, new float[] {-0.0f}, 1)) {
            SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
            tensors.put("ü.b", b);
            tensors.put("a", a);
            Path partial = Files.createDirectory(folder.resolve("x.partial"));
            Checkpoint.write(partial.resolve("t.safetensors").toString(), tensors, Map.of("update", "7"));
            Checkpoint.commit(partial.toString(), folder.resolve("x").toString());
            try (Checkpoint file = Checkpoint.open(folder.resolve("x/t.safetensors").toString());
                    Tensor read = file.read("ü.b", context)) {
                Checks.equal(file.entries().stream().map(CheckpointEntry::name).toList(), List.of("a", "ü.b"));
                Checks.equal(file.entries().get(1).shape(), new long[] {2, 1});
                Checks.equal(file.entries().get(0).dtype(), "F32");
                Checks.equal(file.metadata("update"), "7");
                Checks.refused(Status.NOT_FOUND, () -> file.metadata("absent"));
                Checks.equal(Tensor.digest(List.of(read)), Tensor.digest(List.of(b)));
            }
        } finally {
            remove(folder);
        }
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> found = Files.walk(folder)) {
            for (Path path : found.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
