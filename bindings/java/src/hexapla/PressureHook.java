// What a program may do when a context is full, before the call fails.
//
// Separate because it is the bridge between two kinds of memory: the Java collector sees some hundred bytes where the device holds
// megabytes, so it must be told. Runs inside a call: nothing here may use the context but to release and to ask for its memory.

package hexapla;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Called on the calling thread before a context answers {@link Status#OUT_OF_MEMORY}. A hook that refers to its own
 * {@link Context} keeps that from being collected; everything it needs is in the {@link Pressure}.
 */
@FunctionalInterface
public interface PressureHook {
    /**
     * Try to free device memory. Closing handles and {@link Pressure#memory} work inside; any other call on the context answers
     * {@link Status#BUSY}.
     *
     * @param pressure what is needed and how matters stand
     * @return true: memory may have come free, try again; false: give up now
     * @throws Exception whatever goes wrong; the call then fails, with this as the cause
     */
    boolean relieve(Pressure pressure) throws Exception;

    /**
     * The hook that collects: it runs the collector, waits until the Cleaner has released what was lost, and says whether memory
     * came free. {@code System.gc()} alone returns before any Cleaner has run.
     *
     * @return the hook, good for any number of contexts
     */
    static PressureHook collecting() {
        return PressureHook::collect;
    }

    private static boolean collect(Pressure pressure) {
        final long limitNanos = TimeUnit.SECONDS.toNanos(2);
        // The Cleaner takes what one collection found in no promised order: after the marker, a little longer.
        final long settleNanos = TimeUnit.MILLISECONDS.toNanos(5);
        CountDownLatch swept = new CountDownLatch(1);
        Handle.CLEANER.register(new Object(), swept::countDown);
        System.gc();
        long start = System.nanoTime();
        long settled = 0;
        long live = pressure.memory().liveBytes();
        while (live + pressure.needBytes() > pressure.limitBytes()) {
            long now = System.nanoTime();
            if (swept.getCount() == 0 && settled == 0) {
                settled = now;
            }
            if (now - start > limitNanos || settled != 0 && now - settled > settleNanos) {
                break;
            }
            LockSupport.parkNanos(200_000);
            long before = live;
            live = pressure.memory().liveBytes();
            if (live < before) {
                settled = 0;
            }
        }
        return live < pressure.liveBytes();
    }
}
