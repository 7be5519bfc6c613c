// What a pressure hook is told.
//
// Separate because a hook sees a context only through this: its full Context could be closed, or not yet made.

package hexapla;

import java.util.function.Supplier;

/**
 * An allocation that does not fit.
 *
 * @param needBytes  what it asks for
 * @param liveBytes  in use when it failed
 * @param limitBytes the context's limit, 0 for none
 * @param query      asks for the account as it stands now
 */
public record Pressure(long needBytes, long liveBytes, long limitBytes, Supplier<Memory> query) {
    /** {@return the context's account now; never waits} */
    public Memory memory() {
        return query.get();
    }
}
