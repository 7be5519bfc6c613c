// One update: forward, backward, norm, clip, AdamW.
//
// Separate because this is the heart of the specification and fits a screen. Sends no events, saves nothing, knows no schedule of
// threads.

package hexapla.trainer;

import hexapla.AdamW;
import hexapla.Context;
import hexapla.Optimizer;
import hexapla.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Runs updates of one run. */
final class Update {
    private final Context context;
    private final Model model;
    private final Trainable trainable;
    private final Spec spec;
    private final boolean explicit;

    /** What an update says of itself. */
    record Result(int labels, double loss, double norm, boolean clipped, float learningRate) {}

    Update(Context context, Model model, Trainable trainable, Spec spec, boolean explicit) {
        this.context = context;
        this.model = model;
        this.trainable = trainable;
        this.spec = spec;
        this.explicit = explicit;
    }

    /** Update k, which the caller has marked. Ends in `non_finite` before anything is changed. */
    Result run(long k, List<Render.Example> examples) {
        trainable.gradients.forEach(gradient -> gradient.fill(0));
        int labels = examples.stream().mapToInt(Render.Example::labels).sum();
        List<Double> nlls = new ArrayList<>();
        for (int from = 0; from < examples.size(); from += spec.microBatch()) {
            int to = Math.min(from + spec.microBatch(), examples.size());
            microBatch(Batch.of(examples.subList(from, to)), (float) (1.0 / labels), nlls);
        }
        double total = 0;
        for (double nll : nlls) {
            total += nll;
        }
        double loss = total / labels;
        double norm = Optimizer.norm(trainable.gradients);
        if (!Double.isFinite(loss) || !Double.isFinite(norm)) {
            throw new Failure("non_finite", "update " + k, "update " + k + ": loss " + loss + ", gradient norm " + norm);
        }
        boolean clipped = Optimizer.clip(trainable.gradients, norm, spec.clipNorm());
        float rate = spec.learningRate(k);
        AdamW options = new AdamW(k, rate, spec.beta1(), spec.beta2(), spec.epsilon(), spec.weightDecay());
        Optimizer.adamw(
                options, trainable.adapter.list(), trainable.gradients, trainable.expAvgs, trainable.expAvgSqs);
        return new Result(labels, loss, norm, clipped, rate);
    }

    /** Forward and backward of one micro-batch; every label weighs `weight`. */
    private void microBatch(Batch batch, float weight, List<Double> nlls) {
        try (Temporaries temporaries = new Temporaries(explicit)) {
            Tensor nll = forward(batch, temporaries); // (labels)
            Loss.perRecord(nll.read(), batch.labels(), nlls);
            Tensor incoming = temporaries.keep(Tensor.zeros(context, batch.rows().length));
            incoming.fill(weight);
            trainable.tape.backward(nll, incoming);
        } catch (Throwable thrown) {
            // What was recorded so far holds shares of the temporaries.
            trainable.tape.reset();
            throw thrown;
        }
    }

    /** The recorded forward pass alone: the NLL of each label. */
    Tensor forward(Batch batch, Temporaries temporaries) {
        return new Forward(model, trainable.adapter, spec.scale(), trainable.tape, temporaries::keep).nll(batch);
    }
}
