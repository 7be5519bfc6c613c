// Raw ids, for the probes that must do what the safe layer forbids.
//
// Separate because nothing else may see an id: here an id can be released twice, read after its release, or given to a call of
// another kind. Must not be used by a trainer's own work.

package hexapla.testing;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hexapla.ContextOptions;
import hexapla.Status;
import hexapla.sys.Constants;
import hexapla.sys.ContextCalls;
import hexapla.sys.StatusCalls;
import hexapla.sys.Structs;
import hexapla.sys.TensorCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A context and its tensors by id, with no owner but the caller. */
public final class Raw {
    /**
     * What a call answered.
     *
     * @param status  as in C
     * @param message core's text, "" for {@link Status#OK}
     * @param id      what the call made, 0 for none
     */
    public record Answer(Status status, String message, long id) {}

    @FunctionalInterface
    private interface Body {
        int run(Arena arena, MemorySegment out, MemorySegment error);
    }

    private Raw() {}

    /**
     * Make a context.
     *
     * @param device  as in C
     * @param options the pressure hook apart
     * @return its id
     */
    public static Answer createContext(String device, ContextOptions options) {
        return call((arena, out, error) -> {
            MemorySegment struct = arena.allocate(Structs.CONTEXT_OPTIONS);
            ContextCalls.optionsInit(struct);
            struct.set(JAVA_INT, offset("flags"), options.spill() ? Constants.HXP_SPILL : 0);
            struct.set(JAVA_INT, offset("threads"), options.threads());
            struct.set(JAVA_LONG, offset("memory_limit"), options.memoryLimit());
            if (options.ledger() != null) {
                struct.set(ADDRESS, offset("ledger_path"), arena.allocateFrom(options.ledger()));
            }
            return ContextCalls.create(arena.allocateFrom(device), struct, out, error);
        });
    }

    private static long offset(String field) {
        return Structs.offset(Structs.CONTEXT_OPTIONS, field);
    }

    /**
     * Release a context's id.
     *
     * @param context an id
     * @return the answer
     */
    public static Answer releaseContext(long context) {
        return call((arena, out, error) -> ContextCalls.release(context, error));
    }

    /**
     * Ask for a context's device.
     *
     * @param context an id, of whatever kind
     * @return the answer
     */
    public static Answer contextDevice(long context) {
        return call((arena, out, error) -> ContextCalls.device(context, arena.allocate(32), 32, error));
    }

    /**
     * Ask for a tensor of shape (1) of f16, which is stored only.
     *
     * @param context an id
     * @return the refusal
     */
    public static Answer createHalfTensor(long context) {
        return createTensor(context, Constants.HXP_DTYPE_F16);
    }

    private static Answer createTensor(long context, int dtype) {
        return call((arena, out, error) ->
                TensorCalls.create(context, dtype, 1, arena.allocateFrom(JAVA_LONG, 1), out, error));
    }

    /**
     * Make a tensor of shape (1) of f32.
     *
     * @param context an id
     * @return its id
     */
    public static Answer createTensor(long context) {
        return createTensor(context, Constants.HXP_DTYPE_F32);
    }

    /**
     * Release a tensor's id.
     *
     * @param tensor an id
     * @return the answer
     */
    public static Answer releaseTensor(long tensor) {
        return call((arena, out, error) -> TensorCalls.release(tensor, error));
    }

    /**
     * Read a tensor of shape (1).
     *
     * @param tensor an id
     * @return the answer
     */
    public static Answer readTensor(long tensor) {
        return call((arena, out, error) -> TensorCalls.read(tensor, arena.allocate(JAVA_FLOAT), 4, error));
    }

    private static Answer call(Body body) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment error = arena.allocate(Structs.ERROR);
            StatusCalls.errorInit(error);
            MemorySegment out = arena.allocate(JAVA_LONG);
            Status status = Status.of(body.run(arena, out, error));
            String message = error.asSlice(Structs.offset(Structs.ERROR, "message")).getString(0);
            return new Answer(status, message, out.get(JAVA_LONG, 0));
        }
    }
}
