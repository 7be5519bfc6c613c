// The training specification as the run reads it, and what follows from it alone.
//
// Separate because nothing here has a default: a missing, unknown or out-of-range key ends the request with its name.

package hexapla.trainer;

import java.util.List;
import java.util.Map;

/** The keys of the spec, checked. */
record Spec(
        long seed,
        int updates,
        int batch,
        int microBatch,
        int length,
        double learningRate,
        int warmupUpdates,
        boolean cosine,
        double decayFloor,
        double beta1,
        double beta2,
        double epsilon,
        double weightDecay,
        double clipNorm,
        int rank,
        double alpha,
        List<String> targets,
        int evaluateEvery,
        int saveEvery,
        boolean thinkBlock) {
    private static final long MOST = Integer.MAX_VALUE;

    static Spec parse(Map<?, ?> members) {
        Keys keys = new Keys(members, "spec", "");
        int updates = keys.integer("updates", 1, MOST);
        int batch = keys.integer("batch", 1, MOST);
        Spec spec = new Spec(
                keys.integer("seed", 0, MOST),
                updates,
                batch,
                keys.integer("micro_batch", 1, batch),
                keys.integer("length", 2, MOST),
                above(keys, "learning_rate"),
                keys.integer("warmup_updates", 0, updates),
                keys.oneOf("decay", "cosine", "linear").equals("cosine"),
                within(keys, "decay_floor", true),
                within(keys, "beta1", false),
                within(keys, "beta2", false),
                above(keys, "epsilon"),
                atLeastZero(keys, "weight_decay"),
                above(keys, "clip_norm"),
                keys.integer("rank", 1, MOST),
                above(keys, "alpha"),
                targets(keys),
                keys.integer("evaluate_every", 1, MOST),
                keys.integer("save_every", 1, MOST),
                keys.oneOf("template", "qwen3", "chatml").equals("qwen3"));
        keys.oneOf("precision", "f32");
        keys.finish();
        return spec;
    }

    private static double above(Keys keys, String key) {
        double value = keys.number(key);
        if (!(value > 0)) {
            throw keys.failure(key, "is " + value + ", must be above 0");
        }
        return value;
    }

    private static double atLeastZero(Keys keys, String key) {
        double value = keys.number(key);
        if (!(value >= 0)) {
            throw keys.failure(key, "is " + value + ", must be at least 0");
        }
        return value;
    }

    private static double within(Keys keys, String key, boolean oneToo) {
        double value = keys.number(key);
        if (!(value >= 0 && (value < 1 || oneToo && value == 1))) {
            throw keys.failure(key, "is " + value + ", must be from 0 to " + (oneToo ? "1" : "below 1"));
        }
        return value;
    }

    private static List<String> targets(Keys keys) {
        List<String> targets = keys.strings("targets");
        for (String target : targets) {
            if (Projection.find(target) == null) {
                throw keys.failure("targets", "holds " + Json.quote(target) + ", must be names like q_proj");
            }
        }
        if (targets.isEmpty() || targets.stream().distinct().count() < targets.size()) {
            throw keys.failure("targets", "must be at least one name, none twice");
        }
        return targets;
    }

    /** Whether a projection is adapted. */
    boolean adapts(Projection projection) {
        return targets.contains(projection.key);
    }

    /** The adapter's factor. */
    double scale() {
        return alpha / rank;
    }

    /** η(k) for k from 1: computed in f64, rounded to f32 once. */
    float learningRate(long k) {
        return (float) (learningRate * factor(k));
    }

    private double factor(long k) {
        if (k <= warmupUpdates) {
            return (double) k / warmupUpdates;
        }
        double done = k - warmupUpdates;
        double span = updates - warmupUpdates;
        if (cosine) {
            return decayFloor + (1 - decayFloor) * (1 + Math.cos(Math.PI * done / span)) / 2;
        }
        return decayFloor + (1 - decayFloor) * (updates - k) / span;
    }
}
