// A gate: a place where a caller blocks in native code, holding no lock.
//
// Separate because it belongs to no context. Tests of schedulers need it; nothing else does.

package hexapla;

import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.GateCalls;

/** Closed until opened, then open for good. */
public final class Gate extends Handle {
    private Gate(long id) {
        super(Kind.GATE, id);
    }

    /**
     * A closed gate.
     *
     * @return to be closed (as a handle), which also lets its waiters go
     */
    public static Gate create() {
        try (Call call = Call.begin()) {
            call.check(GateCalls.create(call.out, call.error));
            return new Gate(call.id());
        }
    }

    /**
     * A second owner of this gate.
     *
     * @return to be closed on its own
     */
    public Gate copy() {
        try (Call call = Call.begin()) {
            call.check(GateCalls.retain(id(), call.out, call.error));
            return new Gate(call.id());
        } finally {
            reachabilityFence(this);
        }
    }

    /** Block in native code until the gate is open. A virtual thread keeps its carrier meanwhile; no interrupt ends it. */
    public void await() {
        try (Call call = Call.begin()) {
            call.check(GateCalls.wait(id(), call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /** Wake every waiter, now and from now on. */
    public void open() {
        try (Call call = Call.begin()) {
            call.check(GateCalls.open(id(), call.error));
        } finally {
            reachabilityFence(this);
        }
    }
}
