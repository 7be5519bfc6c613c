// The forward pass of a Qwen3 or Llama model, op by op in the order that the specification fixes.
//
// Separate because this file reads as the spec does. Recorded on a tape or not, adapted or not, it is the same sequence; reshapes
// are views and change no bits.

package hexapla.trainer;

import static hexapla.trainer.Projection.DOWN;
import static hexapla.trainer.Projection.GATE;
import static hexapla.trainer.Projection.K;
import static hexapla.trainer.Projection.O;
import static hexapla.trainer.Projection.Q;
import static hexapla.trainer.Projection.UP;
import static hexapla.trainer.Projection.V;

import hexapla.Ops;
import hexapla.Tape;
import hexapla.Tensor;
import java.util.function.UnaryOperator;

/** One micro-batch through the model. Every temporary goes through `keep`, which decides when it ends. */
final class Forward {
    private final Model model;
    private final Adapter adapter;
    private final double scale;
    private final Tape tape;
    private final UnaryOperator<Tensor> keep;
    private final ModelConfig config;

    /** `adapter` null: off. `tape` null: nothing recorded. */
    Forward(Model model, Adapter adapter, double scale, Tape tape, UnaryOperator<Tensor> keep) {
        this.model = model;
        this.adapter = adapter;
        this.scale = scale;
        this.tape = tape;
        this.keep = keep;
        this.config = model.config;
    }

    /** The NLL of each label: (labels), f32. */
    Tensor nll(Batch batch) {
        Tensor x = keep(Ops.embedding(tape, model.embedding, batch.ids())); // (rows, hidden)
        for (int layer = 0; layer < config.layers(); layer++) {
            x = layer(layer, x, batch);
        }
        Tensor h = norm(x, model.norm);
        return keep(Ops.linearCrossEntropy(tape, h, model.head, batch.rows(), batch.targets()));
    }

    private Tensor layer(int number, Tensor x, Batch batch) {
        Model.Layer layer = model.layers.get(number);
        Tensor h = norm(x, layer.inputNorm()); // (rows, hidden)
        Tensor q = heads(project(number, Q, h), config.heads(), batch); // (rows, heads, head_dim)
        Tensor k = heads(project(number, K, h), config.kvHeads(), batch); // (rows, kv_heads, head_dim)
        Tensor v = heads(project(number, V, h), config.kvHeads(), batch);
        if (config.qkNorm()) {
            q = norm(q, layer.qNorm());
            k = norm(k, layer.kNorm());
        }
        q = keep(Ops.rope(tape, q, batch.positions(), config.theta()));
        k = keep(Ops.rope(tape, k, batch.positions(), config.theta()));
        Tensor a = keep(Ops.attention(tape, q, k, v, batch.starts(), true));
        long width = (long) config.heads() * config.headDim();
        Tensor o = project(number, O, keep(Ops.reshape(tape, a, batch.ids().length, width))); // (rows, hidden)
        Tensor attended = keep(Ops.add(tape, x, o));
        h = norm(attended, layer.postAttentionNorm());
        Tensor g = project(number, GATE, h); // (rows, intermediate)
        Tensor u = project(number, UP, h);
        Tensor m = keep(Ops.swiglu(tape, g, u));
        Tensor d = project(number, DOWN, m); // (rows, hidden)
        return keep(Ops.add(tape, attended, d));
    }

    private Tensor norm(Tensor x, Tensor gain) {
        return keep(Ops.rmsNorm(tape, x, gain, config.epsilon()));
    }

    private Tensor project(int layer, Projection projection, Tensor x) {
        Tensor w = model.layers.get(layer).weights().get(projection);
        Adapter.Pair pair = adapter == null ? null : adapter.pair(layer, projection);
        if (pair == null) {
            return keep(Ops.linear(tape, x, w));
        }
        return keep(Ops.loraLinear(tape, x, w, pair.a(), pair.b(), scale));
    }

    private Tensor heads(Tensor x, int heads, Batch batch) {
        return keep(Ops.reshape(tape, x, batch.ids().length, heads, config.headDim()));
    }

    private Tensor keep(Tensor tensor) {
        return keep.apply(tensor);
    }
}
