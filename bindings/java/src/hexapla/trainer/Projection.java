// The seven matrices of a layer that an adapter can hang on, in adapter order.
//
// Separate because names, order and shapes of weights and adapters all follow from this one list.

package hexapla.trainer;

/** In the order of the adapter: attention first. */
enum Projection {
    Q("self_attn", "q_proj"),
    K("self_attn", "k_proj"),
    V("self_attn", "v_proj"),
    O("self_attn", "o_proj"),
    GATE("mlp", "gate_proj"),
    UP("mlp", "up_proj"),
    DOWN("mlp", "down_proj");

    /** As the spec's `targets` name it. */
    final String key;
    private final String block;

    Projection(String block, String key) {
        this.block = block;
        this.key = key;
    }

    static Projection find(String key) {
        for (Projection projection : values()) {
            if (projection.key.equals(key)) {
                return projection;
            }
        }
        return null;
    }

    /** The name in the model, without its last part. */
    String path(int layer) {
        return "model.layers." + layer + "." + block + "." + key;
    }

    /** (out, in) of the weight. */
    long[] shape(ModelConfig config) {
        long q = (long) config.heads() * config.headDim();
        long kv = (long) config.kvHeads() * config.headDim();
        return switch (this) {
            case Q -> new long[] {q, config.hidden()};
            case K, V -> new long[] {kv, config.hidden()};
            case O -> new long[] {config.hidden(), q};
            case GATE, UP -> new long[] {config.intermediate(), config.hidden()};
            case DOWN -> new long[] {config.hidden(), config.intermediate()};
        };
    }
}
