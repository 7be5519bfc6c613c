// Probes of the ownership axis: owners, copies, orders of release, and races with them.
//
// Separate by axis. Through the safe layer where it lets itself be used wrongly, else by raw ids; every status that a release
// answers is noted.

package hexapla.trainer;

import hexapla.Context;
import hexapla.Core;
import hexapla.Handle;
import hexapla.HexaplaException;
import hexapla.Memory;
import hexapla.Ops;
import hexapla.Status;
import hexapla.Tape;
import hexapla.Tensor;
import hexapla.testing.Raw;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongFunction;

/** Scenarios from `accessors` to `finaliser_race`. */
final class ProbeOwnership {
    private static final int ROUNDS_MAX = 1 << 24;
    private static final Duration COLLECT_LIMIT = Duration.ofSeconds(20);
    private static final float[] VALUES = {1, 2, 3, 4};

    private final Set<String> statuses = new LinkedHashSet<>();

    private ProbeOwnership() {}

    private void release(Handle handle) {
        try {
            handle.close();
            statuses.add(Status.OK.cName());
        } catch (HexaplaException refused) {
            statuses.add(refused.status().cName());
        }
    }

    private Map<String, Object> seen(String value) {
        return Events.members("value", value, "statuses", String.join(",", statuses));
    }

    private static String text(float[] values) {
        StringBuilder text = new StringBuilder();
        for (float value : values) {
            String number = value == (long) value ? Long.toString((long) value) : Float.toString(value);
            text.append(text.isEmpty() ? "" : " ").append(number);
        }
        return text.toString();
    }

    /** Owns a tensor and hands out further owners of it. */
    private record Parent(Tensor tensor) {
        Tensor get() {
            return tensor.copy();
        }
    }

    static Map<String, Object> accessors(ContextChoice choice, Keys parameters) {
        int repeats = parameters.integer("repeats", 1, ROUNDS_MAX);
        parameters.finish();
        ProbeOwnership probe = new ProbeOwnership();
        String expected = text(VALUES);
        String value = expected;
        try (Context context = choice.open()) {
            for (int repeat = 0; repeat < repeats && value.equals(expected); repeat++) {
                value = probe.accessorsOnce(context, expected);
            }
        }
        return probe.seen(value);
    }

    private String accessorsOnce(Context context, String expected) {
        Parent parent = new Parent(Tensor.of(context, VALUES, 4));
        Tensor a = parent.get();
        Tensor b = parent.get();
        release(a);
        release(b);
        String first = text(parent.tensor.read());
        Tensor c = Ops.reshape(null, parent.tensor, 2, 2);
        release(c);
        String second = text(parent.tensor.read());
        release(parent.tensor);
        return first.equals(expected) ? second : first;
    }

    static Map<String, Object> copies(ContextChoice choice, Keys parameters) {
        int repeats = parameters.integer("repeats", 1, ROUNDS_MAX);
        parameters.finish();
        ProbeOwnership probe = new ProbeOwnership();
        String expected = "2 3 4 5";
        String value = expected;
        try (Context context = choice.open()) {
            for (int repeat = 0; repeat < repeats && value.equals(expected); repeat++) {
                value = probe.copiesOnce(context);
            }
        }
        return probe.seen(value);
    }

    private String copiesOnce(Context context) {
        Tensor a = Tensor.of(context, VALUES, 4);
        Tensor c = a.copy();
        Tensor b = a.copy();
        release(a);
        Tensor sum = Ops.reduceSum(null, b, 0);
        float total = sum.read()[0];
        release(sum);
        b.addInPlace(1);
        String value = total == 10 ? text(c.read()) : "sum " + text(new float[] {total});
        release(b);
        release(c);
        return value;
    }

    static Map<String, Object> dropOrders(ContextChoice choice, Keys parameters) {
        long seed = parameters.integer("seed", 0, Integer.MAX_VALUE);
        int orders = parameters.integer("orders", 1, ROUNDS_MAX);
        parameters.finish();
        int failed = 0;
        for (int i = 0; i < orders; i++) {
            Memory before = Core.memory();
            ProbeOwnership probe = new ProbeOwnership();
            probe.dropInOrder(choice, Order.shuffle(seed, i, 5));
            Memory after = Core.memory();
            boolean even = before.liveHandles() == after.liveHandles() && before.liveBytes() == after.liveBytes();
            failed += even && probe.statuses.equals(Set.of(Status.OK.cName())) ? 0 : 1;
        }
        return Events.members("orders", orders, "failed", failed);
    }

    private void dropInOrder(ContextChoice choice, int[] order) {
        Context context = choice.open();
        Tensor tensor = Tensor.of(context, VALUES, 4);
        Tensor second = tensor.copy();
        Tape tape = Tape.open(context);
        tape.watch(tensor, null);
        Tensor view = Ops.reshape(tape, tensor, 2, 2);
        List<Handle> handles = List.of(context, tensor, second, tape, view);
        for (int index : order) {
            release(handles.get(index));
        }
    }

    static Map<String, Object> doubleRelease(ContextChoice choice, Keys parameters) {
        parameters.finish();
        return afterRelease(choice, Raw::releaseTensor);
    }

    static Map<String, Object> useAfterRelease(ContextChoice choice, Keys parameters) {
        parameters.finish();
        return afterRelease(choice, Raw::readTensor);
    }

    private static Map<String, Object> afterRelease(ContextChoice choice, LongFunction<Raw.Answer> call) {
        long context = Raw.createContext(choice.device(), choice.options()).id();
        long tensor = Raw.createTensor(context).id();
        Raw.releaseTensor(tensor);
        Raw.Answer answer = call.apply(tensor);
        Raw.releaseContext(context);
        return Events.members("status", answer.status().cName());
    }

    static Map<String, Object> releaseElsewhere(ContextChoice choice, Keys parameters) throws InterruptedException {
        parameters.finish();
        ProbeOwnership probe = new ProbeOwnership();
        try (Context context = choice.open()) {
            Tensor[] made = new Tensor[1];
            Thread.ofPlatform().start(() -> made[0] = Tensor.zeros(context, 1)).join();
            Thread.ofPlatform().start(() -> probe.release(made[0])).join();
        }
        return Events.members("status", String.join(",", probe.statuses));
    }

    static Map<String, Object> closeRace(ContextChoice choice, Keys parameters) throws Exception {
        int rounds = parameters.integer("rounds", 1, ROUNDS_MAX);
        parameters.finish();
        ProbeOwnership probe = new ProbeOwnership();
        int wrong = 0;
        try (Context context = choice.open()) {
            for (int round = 0; round < rounds; round++) {
                wrong += probe.raceOnce(context) ? 0 : 1;
            }
        }
        return Events.members("rounds", rounds, "wrong", wrong, "statuses", String.join(",", probe.statuses));
    }

    /** Whether a read beside a close answered one of the two right ways. */
    private boolean raceOnce(Context context) throws Exception {
        Tensor tensor = Tensor.zeros(context, 1024);
        tensor.fill(1);
        CountDownLatch start = new CountDownLatch(2);
        Callable<Status> read = () -> {
            start.countDown();
            start.await();
            return readOnes(tensor);
        };
        Callable<Status> close = () -> {
            start.countDown();
            start.await();
            tensor.close();
            return null;
        };
        Status status = ProbeThreads.atOnce(List.of(read, close)).get(0);
        statuses.add(status == null ? "values" : status.cName());
        return status == Status.OK || status == Status.STALE_HANDLE;
    }

    /** The status of a read; null when it succeeded with other values. */
    private static Status readOnes(Tensor tensor) {
        try {
            for (float value : tensor.read()) {
                if (value != 1) {
                    return null;
                }
            }
            return Status.OK;
        } catch (HexaplaException refused) {
            return refused.status();
        }
    }

    static Map<String, Object> finaliserRace(ContextChoice choice, Keys parameters) throws InterruptedException {
        final int warmUp = 20_000;
        final int elements = 65_536;
        int rounds = parameters.integer("rounds", 1, ROUNDS_MAX);
        parameters.finish();
        ProbeOwnership probe = new ProbeOwnership();
        int wrong = 0;
        long handles = Core.memory().liveHandles();
        try (Context context = choice.open()) {
            // A cold method keeps its arguments alive to its end: only compiled code shows an early Cleaner.
            for (int i = 0; i < warmUp; i++) {
                probe.lastUse(context, 16, i);
            }
            Thread collector = Thread.ofPlatform().start(() -> {
                while (!Thread.currentThread().isInterrupted()) {
                    System.gc();
                }
            });
            try {
                for (int round = 1; round <= rounds; round++) {
                    wrong += probe.lastUse(context, elements, round) ? 0 : 1;
                }
            } finally {
                collector.interrupt();
                collector.join();
            }
        }
        Core.collectTo(handles, COLLECT_LIMIT);
        return Events.members("rounds", rounds, "wrong", wrong, "statuses", String.join(",", probe.statuses));
    }

    /** Whether a tensor that is not mentioned behind its read was read whole. It is lost, for the Cleaner. */
    private boolean lastUse(Context context, int elements, int value) {
        Tensor tensor = Tensor.zeros(context, elements);
        tensor.fill(value);
        try {
            float[] values = tensor.read();
            statuses.add(Status.OK.cName());
            for (float each : values) {
                if (each != value) {
                    return false;
                }
            }
            return true;
        } catch (HexaplaException refused) {
            statuses.add(refused.status().cName());
            return false;
        }
    }
}
