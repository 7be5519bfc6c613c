// The library as a whole: who it is, and the account of the process.
//
// Separate because none of it belongs to a handle.

package hexapla;

import hexapla.sys.ContextCalls;
import hexapla.sys.StatusCalls;
import hexapla.sys.Structs;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Questions to the loaded core library. */
public final class Core {
    private Core() {}

    /** {@return one line: version, commit, compiler, CPU, BLAS, backends, faults} */
    public static String buildInfo() {
        return view(StatusCalls.buildInfo());
    }

    /** {@return the fault switches compiled in, comma-separated; empty in a normal build} */
    public static String buildFaults() {
        return view(StatusCalls.buildFaults());
    }

    /** {@return the account of the whole process, every live handle included} */
    public static Memory memory() {
        try (Call call = Call.begin()) {
            MemorySegment struct = call.struct(Structs.MEMORY);
            ContextCalls.memoryInit(struct);
            call.check(ContextCalls.processMemory(struct, call.error));
            return Memory.of(struct);
        }
    }

    /**
     * Collect until no more than so many handles are live, or the time is over. For programs that lost handles on purpose and
     * want them gone now.
     *
     * @param handles the number to reach
     * @param limit   how long at most
     * @return whether it was reached
     */
    public static boolean collectTo(long handles, Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        for (int turn = 0; memory().liveHandles() > handles; turn++) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            // The Cleaner works on its own thread: look more often than collect.
            if (turn % 16 == 0) {
                System.gc();
            }
            LockSupport.parkNanos(500_000);
        }
        return true;
    }

    /** A text that lives as long as the library. */
    @SuppressWarnings("restricted")
    static String view(MemorySegment pointer) {
        return pointer.reinterpret(Long.MAX_VALUE).getString(0);
    }
}
