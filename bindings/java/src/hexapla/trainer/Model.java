// The frozen model: its weights on the device, by layer.
//
// Separate from the forward pass because loading is where a model is refused. A tied head is the embedding itself; when it is
// stored all the same it must hold the same values.

package hexapla.trainer;

import hexapla.Checkpoint;
import hexapla.CheckpointEntry;
import hexapla.Context;
import hexapla.Scope;
import hexapla.Tensor;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Weights; closing releases them all. */
final class Model implements AutoCloseable {
    private static final String EMBEDDING = "model.embed_tokens.weight";
    private static final String HEAD = "lm_head.weight";

    /** One layer; the last two are null without q/k norm. */
    record Layer(
            Tensor inputNorm, Tensor postAttentionNorm, Map<Projection, Tensor> weights, Tensor qNorm, Tensor kNorm) {}

    final ModelConfig config;
    /** (vocabulary, hidden) */
    final Tensor embedding;
    /** (vocabulary, hidden); the embedding when tied. */
    final Tensor head;
    /** (hidden) */
    final Tensor norm;
    final List<Layer> layers = new ArrayList<>();

    private final Scope scope;

    private Model(ModelConfig config, Checkpoint file, Context context, Scope scope) {
        this.config = config;
        this.scope = scope;
        embedding = scope.keep(file.read(EMBEDDING, context));
        for (int number = 0; number < config.layers(); number++) {
            layers.add(layer(number, file, context));
        }
        norm = scope.keep(file.read("model.norm.weight", context));
        head = config.tied() ? embedding : scope.keep(file.read(HEAD, context));
    }

    private Layer layer(int number, Checkpoint file, Context context) {
        String at = "model.layers." + number + ".";
        Map<Projection, Tensor> weights = new EnumMap<>(Projection.class);
        for (Projection projection : Projection.values()) {
            weights.put(projection, scope.keep(file.read(projection.path(number) + ".weight", context)));
        }
        boolean qk = config.qkNorm();
        return new Layer(
                scope.keep(file.read(at + "input_layernorm.weight", context)),
                scope.keep(file.read(at + "post_attention_layernorm.weight", context)),
                weights,
                qk ? scope.keep(file.read(at + "self_attn.q_norm.weight", context)) : null,
                qk ? scope.keep(file.read(at + "self_attn.k_norm.weight", context)) : null);
    }

    /** Load a model's folder. */
    static Model load(String folder, Context context) {
        ModelConfig config = ModelConfig.read(folder);
        try (Checkpoint file = Checkpoint.open(folder)) {
            checked(file, config, folder, context);
            return load(config, file, context);
        }
    }

    private static Model load(ModelConfig config, Checkpoint file, Context context) {
        Scope scope = new Scope();
        try {
            return new Model(config, file, context, scope);
        } catch (Throwable thrown) {
            scope.close();
            throw thrown;
        }
    }

    /** The entries that are the model's, after names, shapes and a stored tied head were checked. */
    static List<CheckpointEntry> checked(Checkpoint file, ModelConfig config, String folder, Context context) {
        List<CheckpointEntry> entries = new ArrayList<>(file.entries());
        boolean headToo = config.tied() && entries.removeIf(entry -> entry.name().equals(HEAD));
        TensorSet.require(entries, config.tensors(), folder);
        if (headToo) {
            try (Tensor head = file.read(HEAD, context);
                    Tensor embedding = file.read(EMBEDDING, context)) {
                if (!Tensor.digest(List.of(head)).equals(Tensor.digest(List.of(embedding)))) {
                    throw Failure.checkpoint(HEAD, folder + ": the head is tied, but the stored " + HEAD + " differs from "
                            + EMBEDDING);
                }
            }
        }
        return entries;
    }

    @Override
    public void close() {
        scope.close();
    }
}
