// How a context is made.
//
// Separate because it is a value: made once, used for any number of contexts.

package hexapla;

/**
 * The choices of a context. Start from {@link #DEFAULTS} and change what differs.
 *
 * @param threads      worker threads, 1 … 256; never changes a result
 * @param memoryLimit  bytes, 0 for none
 * @param spill        past the limit, move buffers to host memory instead of failing
 * @param threadsOwner only the thread that makes the context may call it
 * @param ledger       file to map as the ledger, or null
 * @param pressureHook called before the context answers out of memory, or null
 */
public record ContextOptions(
        int threads, long memoryLimit, boolean spill, boolean threadsOwner, String ledger, PressureHook pressureHook) {
    /** One worker thread, no limit, the {@linkplain PressureHook#collecting collecting} hook. */
    public static final ContextOptions DEFAULTS =
            new ContextOptions(1, 0, false, false, null, PressureHook.collecting());

    /**
     * {@return the same with another number of worker threads}
     *
     * @param threads 1 … 256
     */
    public ContextOptions withThreads(int threads) {
        return new ContextOptions(threads, memoryLimit, spill, threadsOwner, ledger, pressureHook);
    }

    /**
     * {@return the same with another limit}
     *
     * @param memoryLimit bytes, 0 for none
     */
    public ContextOptions withMemoryLimit(long memoryLimit) {
        return new ContextOptions(threads, memoryLimit, spill, threadsOwner, ledger, pressureHook);
    }

    /**
     * {@return the same, spilling or not}
     *
     * @param spill whether to
     */
    public ContextOptions withSpill(boolean spill) {
        return new ContextOptions(threads, memoryLimit, spill, threadsOwner, ledger, pressureHook);
    }

    /**
     * {@return the same, for its maker's thread alone or not}
     *
     * @param threadsOwner whether so
     */
    public ContextOptions withThreadsOwner(boolean threadsOwner) {
        return new ContextOptions(threads, memoryLimit, spill, threadsOwner, ledger, pressureHook);
    }

    /**
     * {@return the same with another ledger}
     *
     * @param ledger a file, or null
     */
    public ContextOptions withLedger(String ledger) {
        return new ContextOptions(threads, memoryLimit, spill, threadsOwner, ledger, pressureHook);
    }

    /**
     * {@return the same with another hook}
     *
     * @param pressureHook the hook, or null
     */
    public ContextOptions withPressureHook(PressureHook pressureHook) {
        return new ContextOptions(threads, memoryLimit, spill, threadsOwner, ledger, pressureHook);
    }
}
