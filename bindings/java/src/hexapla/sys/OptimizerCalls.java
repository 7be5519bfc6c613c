// Declarations of hexapla/optimizer.h: norm, clip and AdamW.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/optimizer.h}; pointers are segments, ids are longs. */
public final class OptimizerCalls {
    private static final MethodHandle ADAMW_OPTIONS_INIT = Library.action("hxp_adamw_options_init", ADDRESS);
    private static final MethodHandle GRADIENT_NORM =
            Library.function("hxp_gradient_norm", JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle GRADIENT_CLIP =
            Library.function("hxp_gradient_clip", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_DOUBLE, JAVA_DOUBLE,
                    ADDRESS, ADDRESS);
    private static final MethodHandle ADAMW_STEP =
            Library.function("hxp_adamw_step", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS,
                    JAVA_LONG, ADDRESS);

    private OptimizerCalls() {}

    /** {@code hxp_adamw_options_init}. */
    public static void adamwOptionsInit(MemorySegment options) {
        try {
            ADAMW_OPTIONS_INIT.invokeExact(options);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_gradient_norm}. */
    public static int gradientNorm(
            MemorySegment gradients, long count, MemorySegment out, MemorySegment error) {
        try {
            return (int) GRADIENT_NORM.invokeExact(gradients, count, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_gradient_clip}. */
    public static int gradientClip(
            MemorySegment gradients, long count, double norm, double clipNorm, MemorySegment clippedOut,
            MemorySegment error) {
        try {
            return (int) GRADIENT_CLIP.invokeExact(gradients, count, norm, clipNorm, clippedOut, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_adamw_step}. */
    public static int adamwStep(
            MemorySegment options, MemorySegment parameters, MemorySegment gradients,
            MemorySegment expAvgs, MemorySegment expAvgSqs, long count, MemorySegment error) {
        try {
            return (int) ADAMW_STEP.invokeExact(
                    options, parameters, gradients, expAvgs, expAvgSqs, count, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
