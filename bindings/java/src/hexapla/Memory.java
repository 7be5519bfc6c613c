// A memory account as a value.
//
// Separate because two queries answer one: a context's, and the process's. It never changes after it was asked for.

package hexapla;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hexapla.sys.Structs;
import java.lang.foreign.MemorySegment;

/**
 * What is in use, of one context or of all contexts of the process.
 *
 * @param threads          worker threads
 * @param liveBytes        device bytes in use now
 * @param peakBytes        the most so far, or since {@link Context#resetPeak}
 * @param limitBytes       the limit, 0 for none
 * @param liveHandles      handles given out and not yet released, of every kind
 * @param spilledBytes     of the live bytes, those now in host memory
 * @param allocations      allocations made so far
 * @param pressureCalls    calls of the pressure hook
 * @param pressureRescues  allocations that succeeded after one
 * @param staleCalls       calls with a released handle (of the process only)
 * @param foreignCalls     calls from another OS thread than the context's maker
 * @param injectedFailures failures fired for tests
 */
public record Memory(
        int threads,
        long liveBytes,
        long peakBytes,
        long limitBytes,
        long liveHandles,
        long spilledBytes,
        long allocations,
        long pressureCalls,
        long pressureRescues,
        long staleCalls,
        long foreignCalls,
        long injectedFailures) {

    static Memory of(MemorySegment struct) {
        return new Memory(
                struct.get(JAVA_INT, Structs.offset(Structs.MEMORY, "threads")),
                count(struct, "live_bytes"),
                count(struct, "peak_bytes"),
                count(struct, "limit_bytes"),
                count(struct, "live_handles"),
                count(struct, "spilled_bytes"),
                count(struct, "allocations"),
                count(struct, "pressure_calls"),
                count(struct, "pressure_rescues"),
                count(struct, "stale_calls"),
                count(struct, "foreign_calls"),
                count(struct, "injected_failures"));
    }

    private static long count(MemorySegment struct, String field) {
        return struct.get(JAVA_LONG, Structs.offset(Structs.MEMORY, field));
    }
}
