// What every handle has: an id with one owner, an explicit end, and a net under it.
//
// Separate because ownership is the same for all kinds: closing swaps the id for 0, so that whoever comes second (a second close,
// the Cleaner, another thread) finds nothing to release. Must not know what a handle is good for.

package hexapla;

import hexapla.sys.CheckpointCalls;
import hexapla.sys.ContextCalls;
import hexapla.sys.GateCalls;
import hexapla.sys.TapeCalls;
import hexapla.sys.TensorCalls;
import hexapla.sys.TokenizerCalls;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A share of an object of the core. {@link #close} gives it back and may be called more than once; any thread may close, while
 * others use the handle too. A handle that is lost unclosed is released by a {@link Cleaner} and reported by {@link Leaks}.
 */
public abstract sealed class Handle implements AutoCloseable
        permits Context, Tensor, Tape, Gate, Checkpoint, Tokenizer {
    static final Cleaner CLEANER = Cleaner.create();

    private final Share share;
    private final Cleaner.Cleanable cleanable;

    Handle(Kind kind, long id) {
        share = new Share(kind, id);
        cleanable = CLEANER.register(this, share);
    }

    /**
     * The id, for one call. The caller must keep this object reachable until the call has returned: the Cleaner may release the id
     * as soon as the object is used no more, and the last use in Java comes before the last use in C.
     */
    final long id() {
        long id = share.get();
        if (id == 0) {
            throw new HexaplaException(Status.STALE_HANDLE, share.kind.noun + " is closed", null);
        }
        return id;
    }

    /** The id of a handle that may be null, which is 0. */
    static long id(Handle handle) {
        return handle == null ? 0 : handle.id();
    }

    /** {@return whether {@link #close} was called} */
    public final boolean isClosed() {
        return share.get() == 0;
    }

    /**
     * Give the share back. A second call does nothing.
     *
     * @throws HexaplaException if the core did not know the id: a bug
     */
    @Override
    public final void close() {
        long id = share.getAndSet(0);
        // Now empty: this only takes the object off the Cleaner's list.
        cleanable.clean();
        if (id != 0) {
            try (Call call = Call.begin()) {
                call.check(share.kind.release(id, call.error));
            }
        }
    }

    /** The kinds of handle, each with its release. */
    enum Kind {
        CONTEXT("context"),
        TENSOR("tensor"),
        TAPE("tape"),
        GATE("gate"),
        CHECKPOINT("checkpoint"),
        TOKENIZER("tokenizer");

        private final String noun;

        Kind(String noun) {
            this.noun = noun;
        }

        int release(long id, MemorySegment error) {
            return switch (this) {
                case CONTEXT -> ContextCalls.release(id, error);
                case TENSOR -> TensorCalls.release(id, error);
                case TAPE -> TapeCalls.release(id, error);
                case GATE -> GateCalls.release(id, error);
                case CHECKPOINT -> CheckpointCalls.release(id, error);
                case TOKENIZER -> TokenizerCalls.release(id, error);
            };
        }
    }

    /** The id, apart from its owner: the Cleaner's action must not reach the object that it waits for. */
    private static final class Share extends AtomicLong implements Runnable {
        private static final long serialVersionUID = 1L;

        private final Kind kind;

        Share(Kind kind, long id) {
            super(id);
            this.kind = kind;
        }

        @Override
        public void run() {
            long id = getAndSet(0);
            if (id != 0) {
                // No context runs on this thread and no status helps anyone here; a release needs neither.
                kind.release(id, MemorySegment.NULL);
                Leaks.report(kind.noun);
            }
        }
    }
}
