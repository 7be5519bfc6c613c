// Declarations of hexapla/ops.h: operations, each making one tensor.
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

/** The functions of {@code hexapla/ops.h}; pointers are segments, ids are longs. */
public final class OpCalls {
    private static final MethodHandle EMBEDDING =
            Library.function("hxp_embedding", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS,
                    ADDRESS);
    private static final MethodHandle RMS_NORM =
            Library.function("hxp_rms_norm", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE,
                    ADDRESS, ADDRESS);
    private static final MethodHandle LINEAR =
            Library.function("hxp_linear", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle LORA_LINEAR =
            Library.function("hxp_lora_linear", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG,
                    JAVA_LONG, JAVA_DOUBLE, ADDRESS, ADDRESS);
    private static final MethodHandle ROPE =
            Library.function("hxp_rope", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_DOUBLE,
                    ADDRESS, ADDRESS);
    private static final MethodHandle ATTENTION =
            Library.function("hxp_attention", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS,
                    JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle SWIGLU =
            Library.function("hxp_swiglu", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle ADD =
            Library.function("hxp_add", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle SCALE =
            Library.function("hxp_scale", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_DOUBLE, ADDRESS, ADDRESS);
    private static final MethodHandle LINEAR_CROSS_ENTROPY =
            Library.function("hxp_linear_cross_entropy", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS,
                    ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle MATMUL =
            Library.function("hxp_matmul", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle SOFTMAX =
            Library.function("hxp_softmax", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle REDUCE_SUM =
            Library.function("hxp_reduce_sum", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle TRANSPOSE =
            Library.function("hxp_transpose", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RESHAPE =
            Library.function("hxp_reshape", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS,
                    ADDRESS);
    private static final MethodHandle AS_STRIDED =
            Library.function("hxp_as_strided", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS,
                    JAVA_LONG, ADDRESS, ADDRESS);

    private OpCalls() {}

    /** {@code hxp_embedding}. */
    public static int embedding(
            long tape, long table, MemorySegment ids, long count, MemorySegment out, MemorySegment error) {
        try {
            return (int) EMBEDDING.invokeExact(tape, table, ids, count, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_rms_norm}. */
    public static int rmsNorm(
            long tape, long x, long gain, double epsilon, MemorySegment out, MemorySegment error) {
        try {
            return (int) RMS_NORM.invokeExact(tape, x, gain, epsilon, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_linear}. */
    public static int linear(long tape, long x, long w, MemorySegment out, MemorySegment error) {
        try {
            return (int) LINEAR.invokeExact(tape, x, w, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_lora_linear}. */
    public static int loraLinear(
            long tape, long x, long w, long a, long b, double scale, MemorySegment out,
            MemorySegment error) {
        try {
            return (int) LORA_LINEAR.invokeExact(tape, x, w, a, b, scale, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_rope}. */
    public static int rope(
            long tape, long x, MemorySegment positions, long count, double theta, MemorySegment out,
            MemorySegment error) {
        try {
            return (int) ROPE.invokeExact(tape, x, positions, count, theta, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_attention}. */
    public static int attention(
            long tape, long q, long k, long v, MemorySegment starts, long startsCount, int causal,
            MemorySegment out, MemorySegment error) {
        try {
            return (int) ATTENTION.invokeExact(tape, q, k, v, starts, startsCount, causal, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_swiglu}. */
    public static int swiglu(long tape, long gate, long up, MemorySegment out, MemorySegment error) {
        try {
            return (int) SWIGLU.invokeExact(tape, gate, up, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_add}. */
    public static int add(long tape, long a, long b, MemorySegment out, MemorySegment error) {
        try {
            return (int) ADD.invokeExact(tape, a, b, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_scale}. */
    public static int scale(long tape, long x, double factor, MemorySegment out, MemorySegment error) {
        try {
            return (int) SCALE.invokeExact(tape, x, factor, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_linear_cross_entropy}. */
    public static int linearCrossEntropy(
            long tape, long h, long w, MemorySegment rows, MemorySegment targets, long count,
            MemorySegment out, MemorySegment error) {
        try {
            return (int) LINEAR_CROSS_ENTROPY.invokeExact(tape, h, w, rows, targets, count, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_matmul}. */
    public static int matmul(long tape, long a, long b, MemorySegment out, MemorySegment error) {
        try {
            return (int) MATMUL.invokeExact(tape, a, b, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_softmax}. */
    public static int softmax(long tape, long x, MemorySegment out, MemorySegment error) {
        try {
            return (int) SOFTMAX.invokeExact(tape, x, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_reduce_sum}. */
    public static int reduceSum(long tape, long x, int axis, MemorySegment out, MemorySegment error) {
        try {
            return (int) REDUCE_SUM.invokeExact(tape, x, axis, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_transpose}. */
    public static int transpose(long tape, long x, MemorySegment out, MemorySegment error) {
        try {
            return (int) TRANSPOSE.invokeExact(tape, x, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_reshape}. */
    public static int reshape(
            long tape, long x, int rank, MemorySegment shape, MemorySegment out, MemorySegment error) {
        try {
            return (int) RESHAPE.invokeExact(tape, x, rank, shape, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_as_strided}. */
    public static int asStrided(
            long tape, long x, int rank, MemorySegment shape, MemorySegment strides, long offset,
            MemorySegment out, MemorySegment error) {
        try {
            return (int) AS_STRIDED.invokeExact(tape, x, rank, shape, strides, offset, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
