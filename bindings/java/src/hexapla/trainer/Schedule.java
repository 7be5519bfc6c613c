// Which thread an update runs on.
//
// Separate because it must change nothing: `pinned` stays on one thread; `migrating` gives each update a virtual thread that then
// blocks in native code, its carrier with it, so that the next update has to run elsewhere.

package hexapla.trainer;

import hexapla.Gate;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Runs updates one after the other. Closing lets every blocked thread go and waits for it. */
final class Schedule implements AutoCloseable {
    /** An update's thread is held until so many later ones have begun. */
    private static final int HELD = 8;

    private record Holder(Thread thread, Gate gate) {}

    private final boolean migrating;
    private final Deque<Holder> holders = new ArrayDeque<>();

    Schedule(boolean migrating) {
        this.migrating = migrating;
    }

    /** Run one update to its end. It calls {@link #begun} when it has begun. */
    void run(Callable<Void> update) throws Exception {
        if (!migrating) {
            update.call();
            return;
        }
        Gate gate = Gate.create();
        CompletableFuture<Void> finished = new CompletableFuture<>();
        Thread thread = Thread.ofVirtual().unstarted(() -> {
            try {
                update.call();
                finished.complete(null);
            } catch (Throwable thrown) {
                finished.completeExceptionally(thrown);
            }
            gate.await();
        });
        holders.addLast(new Holder(thread, gate));
        thread.start();
        try {
            finished.get();
        } catch (ExecutionException failure) {
            // The failure itself, as it would come on one thread.
            throw failure.getCause() instanceof Exception cause ? cause : failure;
        }
    }

    /** The current update has begun: let the thread of the one {@value #HELD} before it go. */
    void begun() {
        if (holders.size() > HELD) {
            holders.peekFirst().gate.open();
        }
    }

    /** Behind an update: forget the thread that was let go. */
    void settle() {
        if (holders.size() > HELD) {
            end(holders.removeFirst());
        }
    }

    private static void end(Holder holder) {
        holder.gate.open();
        boolean interrupted = false;
        while (holder.thread.isAlive()) {
            try {
                holder.thread.join();
            } catch (InterruptedException early) {
                // The thread is on its way out of the gate; a half-ended schedule helps nobody.
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        holder.gate.close();
    }

    @Override
    public void close() {
        while (!holders.isEmpty()) {
            end(holders.removeFirst());
        }
    }
}
