// Handles: who owns, who closes, what the net catches.

import hexapla.Context;
import hexapla.ContextOptions;
import hexapla.Core;
import hexapla.Gate;
import hexapla.HexaplaException;
import hexapla.Leaks;
import hexapla.Ops;
import hexapla.Scope;
import hexapla.Status;
import hexapla.Tape;
import hexapla.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Tests of ownership in the safe layer. */
final class HandleTests {
    private static final int MEBIBYTE = 1 << 20;

    private HandleTests() {}

    static Context context() {
        return Context.open("cpu:0", ContextOptions.DEFAULTS);
    }

    public static void closingTwiceReleasesOnce() {
        long stale = Core.memory().staleCalls();
        Context context = context();
        Tensor tensor = Tensor.zeros(context, 4);
        tensor.close();
        tensor.close();
        Checks.holds(tensor.isClosed() && !context.isClosed(), "closed is not what was closed");
        context.close();
        Checks.equal(Core.memory().staleCalls(), stale);
    }

    public static void useAfterCloseNamesTheKind() throws Exception {
        try (Context context = context()) {
            Tensor tensor = Tensor.zeros(context, 4);
            tensor.close();
            HexaplaException refused = Checks.refused(Status.STALE_HANDLE, tensor::read);
            Checks.equal(refused.getMessage(), "tensor is closed");
        }
    }

    public static void copiesShareValuesAndOutliveEachOther() {
        try (Context context = context()) {
            Tensor first = Tensor.of(context, new float[] {1, 2, 3, 4}, 4);
            try (Tensor second = first.copy()) {
                first.addInPlace(1);
                first.close();
                Checks.equal(second.read(), new float[] {2, 3, 4, 5});
            }
        }
    }

    public static void childrenOutliveTheirContext() {
        Context context = context();
        Tensor tensor = Tensor.of(context, new float[] {7}, 1);
        context.close();
        try (tensor;
                Context again = tensor.context()) {
            Checks.equal(again.device(), "cpu:0");
            Checks.equal(tensor.read(), new float[] {7});
        }
    }

    public static void scopesCloseAllOfTheirs() {
        try (Context context = context()) {
            List<Tensor> kept = new ArrayList<>();
            try (Scope scope = new Scope()) {
                for (int i = 0; i < 3; i++) {
                    kept.add(scope.keep(Tensor.zeros(context, 1)));
                }
            }
            Checks.holds(kept.stream().allMatch(Tensor::isClosed), "a tensor outlived its scope");
        }
    }

    public static void everyKindCopiesAndCloses() {
        long before = Core.memory().liveHandles();
        try (Context context = context();
                Context context2 = context.copy();
                Tape tape = Tape.open(context2);
                Tape tape2 = tape.copy();
                Gate gate = Gate.create();
                Gate gate2 = gate.copy()) {
            gate2.open();
            gate.await();
            tape2.reset();
            Checks.equal(Core.memory().liveHandles() - before, 6L);
        }
        Checks.equal(Core.memory().liveHandles(), before);
    }

    public static void theCleanerReleasesAndReports() {
        long leaks = Leaks.count();
        try (Context context = context()) {
            long handles = Core.memory().liveHandles();
            lose(context);
            Checks.holds(Core.collectTo(handles, Duration.ofSeconds(10)), "the lost tensor is still live");
        }
        Checks.equal(Leaks.count(), leaks + 1);
    }

    private static void lose(Context context) {
        Tensor.zeros(context, 4);
    }

    public static void lostTensorsFitALimit() {
        try (Context context = Context.open("cpu:0", ContextOptions.DEFAULTS.withMemoryLimit(16L * MEBIBYTE))) {
            for (int i = 0; i < 64; i++) {
                Tensor.zeros(context, MEBIBYTE / 4);
            }
            Checks.holds(context.memory().pressureRescues() > 0, "the hook was never needed");
            Checks.holds(context.memory().peakBytes() <= 16L * MEBIBYTE, "the limit was passed");
        }
    }

    public static void finalisersWaitForTheCall() throws InterruptedException {
        try (Context context = context()) {
            // A cold method keeps its arguments to its end: only compiled code could lose one during the call.
            for (int i = 0; i < 20_000; i++) {
                lastUse(context, 4, i);
            }
            Thread collector = Thread.ofPlatform().start(() -> {
                while (!Thread.currentThread().isInterrupted()) {
                    System.gc();
                }
            });
            try {
                for (int i = 0; i < 200; i++) {
                    lastUse(context, 65_536, i);
                }
            } finally {
                collector.interrupt();
                collector.join();
            }
        }
    }

    private static void lastUse(Context context, int elements, int value) {
        Tensor tensor = Tensor.zeros(context, elements);
        tensor.fill(value);
        for (float each : tensor.read()) {
            Checks.holds(each == value, "read " + each + ", not " + value);
        }
    }

    public static void virtualThreadsMayCall() throws InterruptedException {
        try (Context context = context()) {
            List<Thread> threads = new ArrayList<>();
            float[] sums = new float[16];
            for (int i = 0; i < sums.length; i++) {
                int number = i;
                threads.add(Thread.ofVirtual().start(() -> {
                    try (Tensor tensor = Tensor.of(context, new float[] {number, 1}, 2)) {
                        Thread.yield();
                        try (Tensor sum = Ops.reduceSum(null, tensor, 0)) {
                            sums[number] = sum.read()[0];
                        }
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            for (int i = 0; i < sums.length; i++) {
                Checks.equal(sums[i], i + 1f);
            }
        }
    }
}
