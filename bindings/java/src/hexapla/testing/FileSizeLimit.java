// The process's file size limit, lowered for a while.
//
// Separate because it is the operating system's call, not the core's, and only a probe makes it. SIGXFSZ needs no call: the virtual
// machine installs a handler for it that does nothing, so a write past the limit answers EFBIG.

package hexapla.testing;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The soft RLIMIT_FSIZE as it was found. */
public final class FileSizeLimit {
    /** The number in Linux and macOS alike. */
    private static final int RLIMIT_FSIZE = 1;

    private static final MethodHandle GET = handle("getrlimit");
    private static final MethodHandle SET = handle("setrlimit");

    private final long soft;
    private final long hard;

    private FileSizeLimit(long soft, long hard) {
        this.soft = soft;
        this.hard = hard;
    }

    /**
     * Lower the limit.
     *
     * @param bytes no file may grow past this
     * @return what to restore it with
     */
    public static FileSizeLimit lower(long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            // struct rlimit { rlim_t rlim_cur, rlim_max; }, both 64 bits wide
            MemorySegment limits = arena.allocate(JAVA_LONG, 2);
            call(GET, "getrlimit", limits);
            FileSizeLimit before = new FileSizeLimit(limits.getAtIndex(JAVA_LONG, 0), limits.getAtIndex(JAVA_LONG, 1));
            before.set(bytes);
            return before;
        }
    }

    /** Set the limit that was found. */
    public void restore() {
        set(soft);
    }

    private void set(long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            call(SET, "setrlimit", arena.allocateFrom(JAVA_LONG, bytes, hard));
        }
    }

    private static void call(MethodHandle handle, String name, MemorySegment limits) {
        int answer;
        try {
            answer = (int) handle.invokeExact(RLIMIT_FSIZE, limits);
        } catch (Throwable thrown) {
            throw new IllegalStateException(thrown);
        }
        if (answer != 0) {
            throw new IllegalStateException(name + " failed");
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle handle(String name) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(), FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
    }
}
