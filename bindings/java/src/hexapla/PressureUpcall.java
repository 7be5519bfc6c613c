// The function pointer through which the core calls a pressure hook.
//
// Separate because an exception that leaves an upcall ends the virtual machine: everything thrown is caught here, kept for the
// thread, and surfaces behind the call. The pointer lives as long as any Java object that can reach its context.

package hexapla;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hexapla.sys.Library;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ConcurrentHashMap;

/** One hook of one context. Tensors and tapes hold it too: they can outlive their Context and still allocate. */
final class PressureUpcall {
    private static final FunctionDescriptor DESCRIPTOR =
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle CALL = target();
    /** What hooks threw, by the thread whose call is still running. */
    private static final ConcurrentHashMap<Thread, Throwable> THROWN = new ConcurrentHashMap<>();

    /** For {@code hxp_context_options.pressure_hook}. */
    final MemorySegment pointer;

    private final Target target;

    PressureUpcall(PressureHook hook) {
        target = new Target(hook);
        // Freed by the collector, when nothing holds this object any more.
        pointer = Library.pointerTo(CALL.bindTo(target), DESCRIPTOR, Arena.ofAuto());
    }

    /** Tell which context the hook is for. It holds no share: a share would keep the context alive. */
    void bind(long context) {
        target.context = context;
    }

    /** What the hook threw in the call that just returned on this thread, or null. */
    static Throwable takeThrown() {
        return THROWN.isEmpty() ? null : THROWN.remove(Thread.currentThread());
    }

    /** A hook threw and the call succeeded all the same (spilled): nothing to throw, but not to be lost either. */
    static void reportUnasked(Throwable thrown) {
        if (thrown != null) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
        }
    }

    private static MethodHandle target() {
        try {
            return MethodHandles.lookup().findVirtual(Target.class, "call",
                    MethodType.methodType(int.class, MemorySegment.class, long.class, long.class, long.class));
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** What the pointer calls. It must not reach PressureUpcall, or the pointer would keep itself alive. */
    private static final class Target {
        private final PressureHook hook;
        private volatile long context;

        Target(PressureHook hook) {
            this.hook = hook;
        }

        /** Never throws. */
        int call(MemorySegment payload, long needBytes, long liveBytes, long limitBytes) {
            try {
                return hook.relieve(new Pressure(needBytes, liveBytes, limitBytes, this::memory)) ? 1 : 0;
            } catch (Throwable thrown) {
                try {
                    THROWN.merge(Thread.currentThread(), thrown, Target::join);
                } catch (Throwable outOfHeap) {
                    // Nothing is left to keep it in; the call fails all the same.
                    return 0;
                }
                return 0;
            }
        }

        private static Throwable join(Throwable first, Throwable later) {
            if (first != later) {
                first.addSuppressed(later);
            }
            return first;
        }

        private Memory memory() {
            try {
                return Context.memory(context);
            } catch (HexaplaException closed) {
                // The program closed its Context and works on with the tensors.
                return Core.memory();
            }
        }
    }
}
