// Declarations of hexapla/status.h: who the library is, and how an error's struct is set up.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/status.h}; pointers are segments, ids are longs. */
public final class StatusCalls {
    private static final MethodHandle ERROR_INIT = Library.action("hxp_error_init", ADDRESS);
    private static final MethodHandle NAME = Library.function("hxp_status_name", ADDRESS, JAVA_INT);
    private static final MethodHandle ABI_VERSION = Library.function("hxp_abi_version", JAVA_INT);
    private static final MethodHandle BUILD_INFO = Library.function("hxp_build_info", ADDRESS);
    private static final MethodHandle BUILD_FAULTS = Library.function("hxp_build_faults", ADDRESS);

    private StatusCalls() {}

    /** {@code hxp_error_init}. */
    public static void errorInit(MemorySegment error) {
        try {
            ERROR_INIT.invokeExact(error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_status_name}. */
    public static MemorySegment name(int status) {
        try {
            return (MemorySegment) NAME.invokeExact(status);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_abi_version}. */
    public static int abiVersion() {
        try {
            return (int) ABI_VERSION.invokeExact();
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_build_info}. */
    public static MemorySegment buildInfo() {
        try {
            return (MemorySegment) BUILD_INFO.invokeExact();
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_build_faults}. */
    public static MemorySegment buildFaults() {
        try {
            return (MemorySegment) BUILD_FAULTS.invokeExact();
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
