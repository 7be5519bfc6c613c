// A scope: tensors that end together.
//
// Separate because a forward pass makes hundreds of temporaries; a try-with-resources for each would bury the formula.

package hexapla;

import java.util.ArrayDeque;
import java.util.Deque;

/** Closes what it was given, newest first. For one thread at a time. */
public final class Scope implements AutoCloseable {
    private final Deque<Handle> kept = new ArrayDeque<>();

    /** An empty scope. */
    public Scope() {}

    /**
     * Close this handle with the scope.
     *
     * @param <T>    the kind of handle
     * @param handle not null
     * @return the same handle
     */
    public <T extends Handle> T keep(T handle) {
        kept.push(handle);
        return handle;
    }

    /** Close everything; if some closings fail, the first failure is thrown and holds the others. */
    @Override
    public void close() {
        HexaplaException first = null;
        while (!kept.isEmpty()) {
            try {
                kept.pop().close();
            } catch (HexaplaException failure) {
                if (first == null) {
                    first = failure;
                } else {
                    first.addSuppressed(failure);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
