// Evaluation: the held-out records through the model, nothing recorded, nothing changed.
//
// Separate because training and the `evaluate` request do the same and must say the same bits.

package hexapla.trainer;

import java.util.ArrayList;
import java.util.List;

/** Held-out cross-entropy of a model with an adapter, or without (null). */
final class Evaluate {
    private final Model model;
    private final Adapter adapter;
    private final Spec spec;
    private final boolean explicit;
    private final List<Render.Example> examples;

    Evaluate(Model model, Adapter adapter, Spec spec, boolean explicit, List<Render.Example> examples) {
        this.model = model;
        this.adapter = adapter;
        this.spec = spec;
        this.explicit = explicit;
        this.examples = examples;
    }

    /** Evaluate and send the event of a step; a total that is not finite then ends the request. */
    void send(long step, Events events) {
        List<Double> nlls = new ArrayList<>();
        int labels = 0;
        for (int from = 0; from < examples.size(); from += spec.microBatch()) {
            Batch batch = Batch.of(examples.subList(from, Math.min(from + spec.microBatch(), examples.size())));
            try (Temporaries temporaries = new Temporaries(explicit)) {
                Forward forward = new Forward(model, adapter, spec.scale(), null, temporaries::keep);
                Loss.perRecord(forward.nll(batch).read(), batch.labels(), nlls);
            }
            labels += batch.rows().length;
        }
        double total = 0;
        for (double nll : nlls) {
            total += nll;
        }
        double loss = total / labels;
        events.send("evaluation", "step", step, "adapter", adapter != null,
                "loss", loss, "loss_bits", Events.bits(loss), "total", total, "total_bits", Events.bits(total),
                "labels", labels, "record_nll", nlls, "adapter_digest", adapter == null ? null : adapter.digest());
        if (!Double.isFinite(total)) {
            throw new Failure("non_finite", "update " + step, "the evaluation after update " + step + " is " + total);
        }
    }
}
