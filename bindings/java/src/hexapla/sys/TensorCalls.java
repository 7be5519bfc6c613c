// Declarations of hexapla/tensor.h: device memory with a shape.
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

/** The functions of {@code hexapla/tensor.h}; pointers are segments, ids are longs. */
public final class TensorCalls {
    private static final MethodHandle INFO_INIT = Library.action("hxp_tensor_info_init", ADDRESS);
    private static final MethodHandle CREATE =
            Library.function("hxp_tensor_create", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS,
                    ADDRESS);
    private static final MethodHandle RETAIN =
            Library.function("hxp_tensor_retain", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RELEASE =
            Library.function("hxp_tensor_release", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle DESCRIBE =
            Library.function("hxp_tensor_describe", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle CONTEXT =
            Library.function("hxp_tensor_context", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle DEVICE =
            Library.function("hxp_tensor_device", JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle WRITE =
            Library.function("hxp_tensor_write", JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle READ =
            Library.function("hxp_tensor_read", JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle FILL =
            Library.function("hxp_tensor_fill", JAVA_INT, JAVA_LONG, JAVA_DOUBLE, ADDRESS);
    private static final MethodHandle ADD_IN_PLACE =
            Library.function("hxp_tensor_add_in_place", JAVA_INT, JAVA_LONG, JAVA_DOUBLE, ADDRESS);
    private static final MethodHandle DIGEST =
            Library.function("hxp_tensor_digest", JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS);

    private TensorCalls() {}

    /** {@code hxp_tensor_info_init}. */
    public static void infoInit(MemorySegment info) {
        try {
            INFO_INIT.invokeExact(info);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_create}. */
    public static int create(
            long context, int dtype, int rank, MemorySegment shape, MemorySegment out,
            MemorySegment error) {
        try {
            return (int) CREATE.invokeExact(context, dtype, rank, shape, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_retain}. */
    public static int retain(long tensor, MemorySegment out, MemorySegment error) {
        try {
            return (int) RETAIN.invokeExact(tensor, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_release}. */
    public static int release(long tensor, MemorySegment error) {
        try {
            return (int) RELEASE.invokeExact(tensor, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_describe}. */
    public static int describe(long tensor, MemorySegment out, MemorySegment error) {
        try {
            return (int) DESCRIBE.invokeExact(tensor, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_context}. */
    public static int context(long tensor, MemorySegment out, MemorySegment error) {
        try {
            return (int) CONTEXT.invokeExact(tensor, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_device}. */
    public static int device(long tensor, MemorySegment out, long outBytes, MemorySegment error) {
        try {
            return (int) DEVICE.invokeExact(tensor, out, outBytes, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_write}. */
    public static int write(long tensor, MemorySegment data, long dataBytes, MemorySegment error) {
        try {
            return (int) WRITE.invokeExact(tensor, data, dataBytes, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_read}. */
    public static int read(long tensor, MemorySegment out, long outBytes, MemorySegment error) {
        try {
            return (int) READ.invokeExact(tensor, out, outBytes, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_fill}. */
    public static int fill(long tensor, double value, MemorySegment error) {
        try {
            return (int) FILL.invokeExact(tensor, value, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_add_in_place}. */
    public static int addInPlace(long tensor, double value, MemorySegment error) {
        try {
            return (int) ADD_IN_PLACE.invokeExact(tensor, value, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tensor_digest}. */
    public static int digest(
            MemorySegment tensors, long count, MemorySegment out, long outBytes, MemorySegment error) {
        try {
            return (int) DIGEST.invokeExact(tensors, count, out, outBytes, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
