// config.json of a model, as far as the forward pass needs it.
//
// Separate because a value that is not read here is one that this trainer cannot honour: what would change the result and is not
// implemented is refused by name, never ignored.

package hexapla.trainer;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** The model's shape. `qkNorm`: heads of q and k are normed (qwen3). */
record ModelConfig(
        boolean qkNorm,
        int vocabulary,
        int hidden,
        int intermediate,
        int layers,
        int heads,
        int kvHeads,
        int headDim,
        double epsilon,
        double theta,
        boolean tied) {
    private static final long MOST = 1L << 30;

    static ModelConfig read(String folder) {
        Keys keys = SmallFiles.object(Path.of(folder, "config.json"));
        refuseUnknownForms(keys);
        ModelConfig config = new ModelConfig(
                keys.oneOf("model_type", "qwen3", "llama").equals("qwen3"),
                keys.integer("vocab_size", 1, MOST),
                keys.integer("hidden_size", 1, MOST),
                keys.integer("intermediate_size", 1, MOST),
                keys.integer("num_hidden_layers", 1, MOST),
                keys.integer("num_attention_heads", 1, MOST),
                keys.integer("num_key_value_heads", 1, MOST),
                keys.integer("head_dim", 1, MOST),
                keys.number("rms_norm_eps"),
                theta(keys),
                keys.flag("tie_word_embeddings"));
        if (config.heads % config.kvHeads != 0) {
            throw keys.failure("num_attention_heads", "is " + config.heads + ", no multiple of the " + config.kvHeads
                    + " key heads");
        }
        return config;
    }

    private static double theta(Keys keys) {
        if (keys.has("rope_theta") || !keys.has("rope_parameters")) {
            return keys.number("rope_theta");
        }
        return keys.object("rope_parameters").number("rope_theta");
    }

    private static void refuseUnknownForms(Keys keys) {
        for (String key : new String[] {"quantization", "quantization_config"}) {
            if (keys.has(key) && keys.any(key) != null) {
                throw keys.failure(key, "is given: quantized models cannot be trained here");
            }
        }
        for (String key : new String[] {"attention_bias", "mlp_bias", "use_sliding_window"}) {
            if (keys.has(key) && keys.any(key) != null && keys.flag(key)) {
                throw keys.failure(key, "is true, which is not supported");
            }
        }
        for (String key : new String[] {"rope_scaling", "rope_parameters"}) {
            if (keys.has(key) && keys.any(key) != null) {
                Keys rope = keys.object(key);
                for (String type : new String[] {"rope_type", "type"}) {
                    if (rope.has(type) && !"default".equals(rope.any(type))) {
                        throw rope.failure(type, "is " + Json.text(rope.any(type)) + ": rope scaling is not supported");
                    }
                }
                if (rope.has("factor")) {
                    throw rope.failure("factor", "is given: rope scaling is not supported");
                }
            }
        }
        if (keys.has("hidden_act")) {
            keys.oneOf("hidden_act", "silu");
        }
    }

    /** Every stored tensor's name with its shape; the head is left out when tied. */
    Map<String, long[]> tensors() {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("model.embed_tokens.weight", new long[] {vocabulary, hidden});
        for (int layer = 0; layer < layers; layer++) {
            String at = "model.layers." + layer + ".";
            shapes.put(at + "input_layernorm.weight", new long[] {hidden});
            shapes.put(at + "post_attention_layernorm.weight", new long[] {hidden});
            for (Projection projection : Projection.values()) {
                shapes.put(projection.path(layer) + ".weight", projection.shape(this));
            }
            if (qkNorm) {
                shapes.put(at + "self_attn.q_norm.weight", new long[] {headDim});
                shapes.put(at + "self_attn.k_norm.weight", new long[] {headDim});
            }
        }
        shapes.put("model.norm.weight", new long[] {hidden});
        if (!tied) {
            shapes.put("lm_head.weight", new long[] {vocabulary, hidden});
        }
        return shapes;
    }
}
