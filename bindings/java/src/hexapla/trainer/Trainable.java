// What training changes: adapter, gradients, moments, and the tape that connects them.
//
// Separate because it is what a checkpoint holds and what a run owns beside the frozen model. One tape for the whole run: each
// gradient is bound to its parameter once.

package hexapla.trainer;

import hexapla.Checkpoint;
import hexapla.Context;
import hexapla.Scope;
import hexapla.Tape;
import hexapla.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.function.Consumer;

/** All lists in adapter order. Closing releases everything. */
final class Trainable implements AutoCloseable {
    static final String OPTIMIZER_FILE = "optimizer.safetensors";
    private static final String EXP_AVG = "exp_avg.";
    private static final String EXP_AVG_SQ = "exp_avg_sq.";

    final Adapter adapter;
    final List<Tensor> gradients = new ArrayList<>();
    final List<Tensor> expAvgs = new ArrayList<>();
    final List<Tensor> expAvgSqs = new ArrayList<>();
    final Tape tape;

    private final Scope scope;

    private Trainable(Adapter adapter, Context context, Scope scope) {
        this.adapter = adapter;
        this.scope = scope;
        tape = scope.keep(Tape.open(context));
        for (Tensor parameter : adapter.list()) {
            Tensor gradient = scope.keep(Tensor.zeros(context, parameter.info().shape()));
            tape.watch(parameter, gradient);
            gradients.add(gradient);
        }
    }

    /** A start: moments of zeros. */
    static Trainable initial(String folder, Spec spec, ModelConfig config, Context context) {
        Adapter adapter = Adapter.load(folder, folder, spec, config, context);
        return make(adapter, context, trainable -> {
            for (Tensor parameter : adapter.list()) {
                long[] shape = parameter.info().shape();
                trainable.expAvgs.add(trainable.scope.keep(Tensor.zeros(context, shape)));
                trainable.expAvgSqs.add(trainable.scope.keep(Tensor.zeros(context, shape)));
            }
        });
    }

    /** The state of a checkpoint; `configFolder` is the initial adapter's. */
    static Trainable resumed(String checkpoint, String configFolder, Spec spec, ModelConfig config, Context context) {
        Adapter adapter = Adapter.load(checkpoint, configFolder, spec, config, context);
        return make(adapter, context, trainable -> trainable.readMoments(checkpoint, spec, config, context));
    }

    private static Trainable make(Adapter adapter, Context context, Consumer<Trainable> moments) {
        Scope scope = new Scope();
        try {
            Trainable trainable = new Trainable(adapter, context, scope);
            moments.accept(trainable);
            return trainable;
        } catch (Throwable thrown) {
            scope.close();
            adapter.close();
            throw thrown;
        }
    }

    private void readMoments(String folder, Spec spec, ModelConfig config, Context context) {
        String path = folder + "/" + OPTIMIZER_FILE;
        SequencedMap<String, long[]> shapes = Adapter.shapes(spec, config);
        SequencedMap<String, long[]> expected = new LinkedHashMap<>();
        shapes.forEach((name, shape) -> {
            expected.put(EXP_AVG + name, shape);
            expected.put(EXP_AVG_SQ + name, shape);
        });
        try (Checkpoint file = Checkpoint.open(path)) {
            TensorSet.require(file.entries(), expected, path);
            for (String name : shapes.keySet()) {
                expAvgs.add(scope.keep(file.read(EXP_AVG + name, context)));
                expAvgSqs.add(scope.keep(file.read(EXP_AVG_SQ + name, context)));
            }
        }
    }

    /** The moments by their names in the file. */
    SequencedMap<String, Tensor> moments() {
        SequencedMap<String, Tensor> moments = new LinkedHashMap<>();
        int i = 0;
        for (String name : adapter.tensors().keySet()) {
            moments.put(EXP_AVG + name, expAvgs.get(i));
            moments.put(EXP_AVG_SQ + name, expAvgSqs.get(i));
            i++;
        }
        return moments;
    }

    /** exp_avg, then exp_avg_sq, of each. */
    String optimizerDigest() {
        return Tensor.digest(List.copyOf(moments().values()));
    }

    @Override
    public void close() {
        scope.close();
        adapter.close();
    }
}
