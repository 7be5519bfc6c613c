// Declarations of hexapla/gate.h: a place to block in native code.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/gate.h}; pointers are segments, ids are longs. */
public final class GateCalls {
    private static final MethodHandle CREATE =
            Library.function("hxp_gate_create", JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle RETAIN =
            Library.function("hxp_gate_retain", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RELEASE =
            Library.function("hxp_gate_release", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle WAIT = Library.function("hxp_gate_wait", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle OPEN = Library.function("hxp_gate_open", JAVA_INT, JAVA_LONG, ADDRESS);

    private GateCalls() {}

    /** {@code hxp_gate_create}. */
    public static int create(MemorySegment out, MemorySegment error) {
        try {
            return (int) CREATE.invokeExact(out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_gate_retain}. */
    public static int retain(long gate, MemorySegment out, MemorySegment error) {
        try {
            return (int) RETAIN.invokeExact(gate, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_gate_release}. */
    public static int release(long gate, MemorySegment error) {
        try {
            return (int) RELEASE.invokeExact(gate, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_gate_wait}. */
    public static int wait(long gate, MemorySegment error) {
        try {
            return (int) WAIT.invokeExact(gate, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_gate_open}. */
    public static int open(long gate, MemorySegment error) {
        try {
            return (int) OPEN.invokeExact(gate, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
