// Errors: status and text as core wrote them, and hooks that go wrong.

import hexapla.Checkpoint;
import hexapla.Context;
import hexapla.ContextOptions;
import hexapla.HexaplaException;
import hexapla.Ops;
import hexapla.PressureHook;
import hexapla.Status;
import hexapla.Tensor;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of the exception and of the pressure hook. */
final class ErrorTests {
    private static final long MEBIBYTE = 1 << 20;

    private ErrorTests() {}

    private static Context full(PressureHook hook) {
        return Context.open("cpu:0", ContextOptions.DEFAULTS.withMemoryLimit(MEBIBYTE).withPressureHook(hook));
    }

    public static void theTextNamesTheValue() throws Exception {
        try (Context context = HandleTests.context()) {
            HexaplaException refused = Checks.refused(Status.INVALID_ARGUMENT, () -> Tensor.zeros(context, -31).close());
            Checks.holds(refused.getMessage().contains("-31"), refused.getMessage());
        }
    }

    public static void everyInjectedStatusArrives() throws Exception {
        try (Context context = HandleTests.context()) {
            for (Status status : Status.values()) {
                if (status != Status.OK) {
                    context.failNext(status);
                    HexaplaException refused = Checks.refused(status, () -> Tensor.zeros(context, 1).close());
                    Checks.equal(refused.getMessage(), "injected " + status.cName());
                }
            }
        }
    }

    public static void anUnknownStatusStops() {
        try {
            Status.of(99);
        } catch (IllegalStateException expected) {
            return;
        }
        throw new AssertionError("status 99 was accepted");
    }

    public static void withoutAHookTheLimitIsTheEnd() throws Exception {
        try (Context context = full(null)) {
            Checks.refused(Status.OUT_OF_MEMORY, () -> Tensor.zeros(context, MEBIBYTE).close());
            Tensor.zeros(context, 16).close();
        }
    }

    public static void whatAHookThrowsIsTheCause() throws Exception {
        Exception thrown = new Exception("from the hook");
        PressureHook hook = pressure -> {
            throw thrown;
        };
        try (Context context = full(hook)) {
            HexaplaException refused =
                    Checks.refused(Status.OUT_OF_MEMORY, () -> Tensor.zeros(context, MEBIBYTE).close());
            Checks.holds(refused.getCause() == thrown, "the cause is " + refused.getCause());
            Tensor.zeros(context, 16).close();
            // The next failure is not this one's.
            HexaplaException later = Checks.refused(Status.INVALID_ARGUMENT, () -> Tensor.zeros(context, -1).close());
            Checks.holds(later.getCause() == null, "an old cause came again");
        }
    }

    public static void aHookMayCloseAndAsk() {
        Tensor[] spare = new Tensor[1];
        AtomicInteger calls = new AtomicInteger();
        PressureHook hook = pressure -> {
            calls.incrementAndGet();
            Checks.equal(pressure.limitBytes(), MEBIBYTE);
            spare[0].close();
            return pressure.memory().liveBytes() < pressure.liveBytes();
        };
        try (Context context = full(hook)) {
            spare[0] = Tensor.zeros(context, 3 * MEBIBYTE / 16);
            try (Tensor rescued = Tensor.zeros(context, 3 * MEBIBYTE / 16)) {
                Checks.equal(rescued.info().bytes(), 3 * MEBIBYTE / 4);
            }
            Checks.equal(calls.get(), 1);
            Checks.equal(context.memory().pressureRescues(), 1L);
        }
    }

    public static void aTextWithAZeroByteIsRefused() throws Exception {
        Checks.refused(Status.INVALID_ARGUMENT, () -> Checkpoint.open("/nonexistent\0/file").close());
    }

    public static void arraysOfOneLengthAreWantedBeforeC() {
        try (Context context = HandleTests.context();
                Tensor h = Tensor.zeros(context, 2, 2)) {
            Ops.linearCrossEntropy(null, h, h, new int[] {0, 1}, new int[] {0}).close();
        } catch (IllegalArgumentException expected) {
            Checks.equal(expected.getMessage(), "rows has 2 numbers, targets has 1");
            return;
        }
        throw new AssertionError("a count for two lengths was accepted");
    }
}
