// Declarations of hexapla/context.h: one device, its memory account, its workers and its ledger.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/context.h}; pointers are segments, ids are longs. */
public final class ContextCalls {
    private static final MethodHandle OPTIONS_INIT = Library.action("hxp_context_options_init", ADDRESS);
    private static final MethodHandle MEMORY_INIT = Library.action("hxp_memory_init", ADDRESS);
    private static final MethodHandle CREATE =
            Library.function("hxp_context_create", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle RETAIN =
            Library.function("hxp_context_retain", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RELEASE =
            Library.function("hxp_context_release", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle DEVICE =
            Library.function("hxp_context_device", JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle MEMORY =
            Library.function("hxp_context_memory", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle PROCESS_MEMORY =
            Library.function("hxp_process_memory", JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle RESET_PEAK =
            Library.function("hxp_context_reset_peak", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle MARK =
            Library.function("hxp_context_mark", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle SYNCHRONIZE =
            Library.function("hxp_context_synchronize", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle FAIL_ALLOCATION =
            Library.function("hxp_context_fail_allocation", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT,
                    ADDRESS);
    private static final MethodHandle FAIL_NEXT =
            Library.function("hxp_context_fail_next", JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS);

    private ContextCalls() {}

    /** {@code hxp_context_options_init}. */
    public static void optionsInit(MemorySegment options) {
        try {
            OPTIONS_INIT.invokeExact(options);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_memory_init}. */
    public static void memoryInit(MemorySegment memory) {
        try {
            MEMORY_INIT.invokeExact(memory);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_create}. */
    public static int create(
            MemorySegment device, MemorySegment options, MemorySegment out, MemorySegment error) {
        try {
            return (int) CREATE.invokeExact(device, options, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_retain}. */
    public static int retain(long context, MemorySegment out, MemorySegment error) {
        try {
            return (int) RETAIN.invokeExact(context, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_release}. */
    public static int release(long context, MemorySegment error) {
        try {
            return (int) RELEASE.invokeExact(context, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_device}. */
    public static int device(long context, MemorySegment out, long outBytes, MemorySegment error) {
        try {
            return (int) DEVICE.invokeExact(context, out, outBytes, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_memory}. */
    public static int memory(long context, MemorySegment out, MemorySegment error) {
        try {
            return (int) MEMORY.invokeExact(context, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_process_memory}. */
    public static int processMemory(MemorySegment out, MemorySegment error) {
        try {
            return (int) PROCESS_MEMORY.invokeExact(out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_reset_peak}. */
    public static int resetPeak(long context, MemorySegment error) {
        try {
            return (int) RESET_PEAK.invokeExact(context, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_mark}. */
    public static int mark(long context, long update, MemorySegment error) {
        try {
            return (int) MARK.invokeExact(context, update, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_synchronize}. */
    public static int synchronize(long context, MemorySegment error) {
        try {
            return (int) SYNCHRONIZE.invokeExact(context, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_fail_allocation}. */
    public static int failAllocation(long context, long nth, int persistent, MemorySegment error) {
        try {
            return (int) FAIL_ALLOCATION.invokeExact(context, nth, persistent, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_context_fail_next}. */
    public static int failNext(long context, int status, MemorySegment error) {
        try {
            return (int) FAIL_NEXT.invokeExact(context, status, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
