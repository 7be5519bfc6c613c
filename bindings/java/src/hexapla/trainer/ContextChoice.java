// The `context` of a request.
//
// Separate because most requests carry one and make the same kind of context from it: with the collecting hook, which is this
// language's promise that lost tensors are released in time.

package hexapla.trainer;

import hexapla.Context;
import hexapla.ContextOptions;

/** How the request wants its context. */
record ContextChoice(String device, ContextOptions options) {

    static ContextChoice parse(Keys request) {
        Keys keys = request.object("context");
        String device = keys.string("device");
        ContextOptions options = ContextOptions.DEFAULTS
                .withThreads(keys.integer("threads", 0, Integer.MAX_VALUE))
                .withMemoryLimit(memoryLimit(keys))
                .withSpill(keys.flag("spill"))
                .withLedger(keys.pathOrNull("ledger"));
        keys.finish();
        return new ContextChoice(device, options);
    }

    private static long memoryLimit(Keys keys) {
        long limit = keys.integer("memory_limit");
        if (limit < 0) {
            throw keys.failure("memory_limit", "is " + limit + ", must be at least 0");
        }
        return limit;
    }

    Context open() {
        return Context.open(device, options);
    }
}
