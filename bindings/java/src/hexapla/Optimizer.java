// What happens to gradients after backward: global norm, clip, AdamW.
//
// Separate because these change tensors in place and are never recorded.

package hexapla;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.OptimizerCalls;
import hexapla.sys.Structs;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Functions over lists of contiguous tensors of one context; the i-th of each list belong together. */
public final class Optimizer {
    private Optimizer() {}

    /**
     * The square root of the f64 sum of squares over all gradients, in order.
     *
     * @param gradients at least one
     * @return the norm; not finite when a gradient is not
     */
    public static double norm(List<Tensor> gradients) {
        try (Call call = Call.begin()) {
            call.check(OptimizerCalls.gradientNorm(call.ids(gradients), gradients.size(), call.out, call.error));
            return call.number();
        } finally {
            reachabilityFence(gradients);
        }
    }

    /**
     * If the norm is above the limit, multiply every gradient by f32(limit / norm), in place.
     *
     * @param gradients at least one
     * @param norm      from {@link #norm}
     * @param clipNorm  the limit
     * @return whether they were multiplied
     */
    public static boolean clip(List<Tensor> gradients, double norm, double clipNorm) {
        try (Call call = Call.begin()) {
            call.check(OptimizerCalls.gradientClip(
                    call.ids(gradients), gradients.size(), norm, clipNorm, call.out, call.error));
            return call.out.get(JAVA_INT, 0) != 0;
        } finally {
            reachabilityFence(gradients);
        }
    }

    /**
     * One AdamW step, in place on parameters and moments.
     *
     * @param options    of this step
     * @param parameters p
     * @param gradients  g
     * @param expAvgs    m
     * @param expAvgSqs  v
     */
    public static void adamw(
            AdamW options, List<Tensor> parameters, List<Tensor> gradients, List<Tensor> expAvgs, List<Tensor> expAvgSqs) {
        int count = parameters.size();
        if (gradients.size() != count || expAvgs.size() != count || expAvgSqs.size() != count) {
            throw new IllegalArgumentException("lists of " + count + ", " + gradients.size() + ", " + expAvgs.size() + " and "
                    + expAvgSqs.size() + " tensors do not belong together");
        }
        try (Call call = Call.begin()) {
            MemorySegment struct = call.struct(Structs.ADAMW_OPTIONS);
            OptimizerCalls.adamwOptionsInit(struct);
            struct.set(JAVA_LONG, at("step"), options.step());
            struct.set(JAVA_DOUBLE, at("learning_rate"), options.learningRate());
            struct.set(JAVA_DOUBLE, at("beta1"), options.beta1());
            struct.set(JAVA_DOUBLE, at("beta2"), options.beta2());
            struct.set(JAVA_DOUBLE, at("epsilon"), options.epsilon());
            struct.set(JAVA_DOUBLE, at("weight_decay"), options.weightDecay());
            call.check(OptimizerCalls.adamwStep(
                    struct, call.ids(parameters), call.ids(gradients), call.ids(expAvgs), call.ids(expAvgSqs), count,
                    call.error));
        } finally {
            reachabilityFence(parameters);
            reachabilityFence(gradients);
            reachabilityFence(expAvgs);
            reachabilityFence(expAvgSqs);
        }
    }

    private static long at(String field) {
        return Structs.offset(Structs.ADAMW_OPTIONS, field);
    }
}
