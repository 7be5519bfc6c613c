// A context: one device, its memory account, its workers, its ledger.
//
// Separate because everything that computes lives in one. It holds the pressure hook's pointer and hands it on to what is made in
// it.

package hexapla;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.Constants;
import hexapla.sys.ContextCalls;
import hexapla.sys.Structs;
import java.lang.foreign.MemorySegment;

/** A device with workers of its own. Any thread may call, virtual ones too; calls run one at a time. */
public final class Context extends Handle {
    /** Room for a device's name. */
    static final int DEVICE_BYTES = 32;

    /** Kept alive by whoever can make a call in this context; null without a hook. */
    final PressureUpcall pressure;

    Context(long id, PressureUpcall pressure) {
        super(Kind.CONTEXT, id);
        this.pressure = pressure;
    }

    /**
     * Make a context.
     *
     * @param device  {@code cpu:N} or {@code cuda:N}
     * @param options see there
     * @return the context, to be closed; it ends with the last tensor in it
     * @throws HexaplaException {@link Status#DEVICE}, {@link Status#IO} (ledger), {@link Status#INVALID_ARGUMENT},
     *     {@link Status#OUT_OF_MEMORY}
     */
    public static Context open(String device, ContextOptions options) {
        PressureUpcall pressure = options.pressureHook() == null ? null : new PressureUpcall(options.pressureHook());
        try (Call call = Call.begin()) {
            MemorySegment struct = call.struct(Structs.CONTEXT_OPTIONS);
            ContextCalls.optionsInit(struct);
            int flags = (options.threadsOwner() ? Constants.HXP_THREADS_OWNER : 0) | (options.spill() ? Constants.HXP_SPILL : 0);
            struct.set(JAVA_INT, offset("flags"), flags);
            struct.set(JAVA_INT, offset("threads"), options.threads());
            struct.set(JAVA_LONG, offset("memory_limit"), options.memoryLimit());
            if (options.ledger() != null) {
                struct.set(ADDRESS, offset("ledger_path"), call.text(options.ledger()));
            }
            if (pressure != null) {
                struct.set(ADDRESS, offset("pressure_hook"), pressure.pointer);
            }
            call.check(ContextCalls.create(call.text(device), struct, call.out, call.error));
            long id = call.id();
            if (pressure != null) {
                pressure.bind(id);
            }
            return new Context(id, pressure);
        } finally {
            reachabilityFence(pressure);
        }
    }

    /**
     * A second owner of this context.
     *
     * @return to be closed on its own
     */
    public Context copy() {
        try (Call call = Call.begin()) {
            call.check(ContextCalls.retain(id(), call.out, call.error));
            return new Context(call.id(), pressure);
        } finally {
            reachabilityFence(this);
        }
    }

    /** {@return the device's name, as given to {@link #open}} */
    public String device() {
        try (Call call = Call.begin()) {
            MemorySegment text = call.bytes(DEVICE_BYTES);
            call.check(ContextCalls.device(id(), text, DEVICE_BYTES, call.error));
            return text.getString(0);
        } finally {
            reachabilityFence(this);
        }
    }

    /** {@return the account now; never waits for a running call, works inside the pressure hook} */
    public Memory memory() {
        try {
            return memory(id());
        } finally {
            reachabilityFence(this);
        }
    }

    static Memory memory(long id) {
        try (Call call = Call.begin()) {
            MemorySegment struct = call.struct(Structs.MEMORY);
            ContextCalls.memoryInit(struct);
            call.check(ContextCalls.memory(id, struct, call.error));
            return Memory.of(struct);
        }
    }

    /** Let {@link Memory#peakBytes} start again from what is live. */
    public void resetPeak() {
        try (Call call = Call.begin()) {
            call.check(ContextCalls.resetPeak(id(), call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Stamp the ledger: the records that follow belong to this update.
     *
     * @param update its number
     */
    public void mark(long update) {
        try (Call call = Call.begin()) {
            call.check(ContextCalls.mark(id(), update, call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /** Wait until everything queued on the device is done. */
    public void synchronize() {
        try (Call call = Call.begin()) {
            call.check(ContextCalls.synchronize(id(), call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * For tests: let an allocation fail with {@link Status#OUT_OF_MEMORY}.
     *
     * @param nth        1 = the next; 0 switches it off
     * @param persistent every allocation from the nth on fails
     */
    public void failAllocation(long nth, boolean persistent) {
        try (Call call = Call.begin()) {
            call.check(ContextCalls.failAllocation(id(), nth, persistent ? 1 : 0, call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * For tests: let the next call answer a status and do nothing else.
     *
     * @param status any but {@link Status#OK}
     */
    public void failNext(Status status) {
        try (Call call = Call.begin()) {
            call.check(ContextCalls.failNext(id(), status.ordinal(), call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    private static long offset(String field) {
        return Structs.offset(Structs.CONTEXT_OPTIONS, field);
    }
}
