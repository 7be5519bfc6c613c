// Declarations of hexapla/tape.h: the record of operations and the way back through it.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/tape.h}; pointers are segments, ids are longs. */
public final class TapeCalls {
    private static final MethodHandle CREATE =
            Library.function("hxp_tape_create", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RETAIN =
            Library.function("hxp_tape_retain", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RELEASE =
            Library.function("hxp_tape_release", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle WATCH =
            Library.function("hxp_tape_watch", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle GRADIENT =
            Library.function("hxp_tape_gradient", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle BACKWARD =
            Library.function("hxp_tape_backward", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle RESET =
            Library.function("hxp_tape_reset", JAVA_INT, JAVA_LONG, ADDRESS);

    private TapeCalls() {}

    /** {@code hxp_tape_create}. */
    public static int create(long context, MemorySegment out, MemorySegment error) {
        try {
            return (int) CREATE.invokeExact(context, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tape_retain}. */
    public static int retain(long tape, MemorySegment out, MemorySegment error) {
        try {
            return (int) RETAIN.invokeExact(tape, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tape_release}. */
    public static int release(long tape, MemorySegment error) {
        try {
            return (int) RELEASE.invokeExact(tape, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tape_watch}. */
    public static int watch(long tape, long tensor, long gradient, MemorySegment error) {
        try {
            return (int) WATCH.invokeExact(tape, tensor, gradient, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tape_gradient}. */
    public static int gradient(long tape, long tensor, MemorySegment out, MemorySegment error) {
        try {
            return (int) GRADIENT.invokeExact(tape, tensor, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tape_backward}. */
    public static int backward(long tape, long output, long incoming, MemorySegment error) {
        try {
            return (int) BACKWARD.invokeExact(tape, output, incoming, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tape_reset}. */
    public static int reset(long tape, MemorySegment error) {
        try {
            return (int) RESET.invokeExact(tape, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
