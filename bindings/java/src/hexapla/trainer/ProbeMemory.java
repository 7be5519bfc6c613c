// Probes of the memory axis: what is lost, when it comes back, and what is left behind.
//
// Separate by axis. Objects are dropped here on purpose; whatever a scenario lost is collected before it answers.

package hexapla.trainer;

import hexapla.Context;
import hexapla.Core;
import hexapla.HexaplaException;
import hexapla.Tensor;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Scenarios `drop_in_loop`, `cycles`, `caught_errors`, `scope`. */
final class ProbeMemory {
    private static final Duration COLLECT_LIMIT = Duration.ofSeconds(20);
    private static final int TURNS_MAX = 1 << 24;

    private ProbeMemory() {}

    /** Collections so far and the milliseconds in them, over all collectors. */
    private record Collections(long count, long milliseconds) {
        static Collections now() {
            long count = 0;
            long milliseconds = 0;
            for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
                count += bean.getCollectionCount();
                milliseconds += bean.getCollectionTime();
            }
            return new Collections(count, milliseconds);
        }
    }

    /** Bytes that Java's own heap holds once everything dead is collected; twice, since the first finds what a cleaner must see. */
    private static long managedHeap() {
        System.gc();
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** How far a loop came: turns done, and the one that failed, 0 for none. */
    private record Loop(long turns, long failedTurn) {
        static Loop run(long turns, Context context, long elements, Consumer<Tensor> fate) {
            for (long turn = 1; turn <= turns; turn++) {
                try {
                    fate.accept(Tensor.zeros(context, elements));
                } catch (HexaplaException full) {
                    return new Loop(turn - 1, turn);
                }
            }
            return new Loop(turns, 0);
        }
    }

    /** One tensor lost and one refused, in a context of its own and off the ledger: what Java loads for the first of each lasts. */
    private static void warmUp(ContextChoice choice) {
        try (Context small = Context.open(choice.device(), choice.options().withMemoryLimit(4096).withLedger(null))) {
            Tensor.zeros(small, 512);
            Tensor.zeros(small, 2048).close();
        } catch (HexaplaException expected) {
            // The hook has run, and the call has failed: that was all.
        }
    }

    static Map<String, Object> dropInLoop(ContextChoice choice, Keys parameters) {
        long elements = elements(parameters);
        int turns = parameters.integer("turns", 0, TURNS_MAX);
        boolean close = parameters.integer("close", 0, 1) == 1;
        parameters.finish();
        try (Context context = choice.open()) {
            long handles = Core.memory().liveHandles();
            warmUp(choice);
            long heap = managedHeap();
            Collections before = Collections.now();
            Loop loop = Loop.run(turns, context, elements, close ? Tensor::close : lost -> {});
            Collections after = Collections.now();
            long pressureCalls = context.memory().pressureCalls();
            long heapGrowth = managedHeap() - heap;
            Core.collectTo(handles, COLLECT_LIMIT);
            return Events.members("turns", loop.turns, "failed_turn", loop.failedTurn, "pressure_calls", pressureCalls,
                    "collections", after.count - before.count,
                    "collector_ms", after.milliseconds - before.milliseconds,
                    "managed_heap_growth_bytes", heapGrowth);
        }
    }

    private static long elements(Keys parameters) {
        long bytes = parameters.integer("bytes");
        if (bytes < 0) {
            throw parameters.failure("bytes", "is " + bytes + ", must be at least 0");
        }
        return bytes / 4;
    }

    /** An object that refers to itself and to a tensor. */
    private static final class Cycle {
        private final Cycle self = this;
        private final Tensor tensor;

        Cycle(Tensor tensor) {
            this.tensor = tensor;
        }

        boolean isWhole() {
            return self == this && !tensor.isClosed();
        }
    }

    static Map<String, Object> cycles(ContextChoice choice, Keys parameters) {
        long elements = elements(parameters);
        int turns = parameters.integer("turns", 0, TURNS_MAX);
        parameters.finish();
        try (Context context = choice.open()) {
            long handles = Core.memory().liveHandles();
            long bytes = context.memory().liveBytes();
            Loop loop = Loop.run(turns, context, elements, tensor -> {
                if (!new Cycle(tensor).isWhole()) {
                    throw new IllegalStateException("a tensor ended while it was held");
                }
            });
            Core.collectTo(handles, COLLECT_LIMIT);
            return Events.members("turns", loop.turns, "failed_turn", loop.failedTurn,
                    "difference_bytes", context.memory().liveBytes() - bytes);
        }
    }

    static Map<String, Object> caughtErrors(ContextChoice choice, Keys parameters) {
        TrainRequest request = TrainRequest.parse(parameters.object("train"));
        int turns = parameters.integer("turns", 0, TURNS_MAX);
        parameters.finish();
        long largest = 0;
        long failedTurn = 0;
        try (Run run = Run.open(request, choice, Run.load(request))) {
            List<Render.Example> examples = run.examples(run.batch(1));
            Batch batch = Batch.of(examples.subList(0, Math.min(request.spec().microBatch(), examples.size())));
            for (int turn = 1; turn <= turns; turn++) {
                long before = run.context.memory().liveBytes();
                if (!backwardFails(run, batch) && failedTurn == 0) {
                    failedTurn = turn;
                }
                largest = furthest(largest, run.context.memory().liveBytes() - before);
            }
        }
        return Events.members("turns", turns, "failed_turn", failedTurn, "difference_bytes", largest);
    }

    /** Whether backward failed, as it was told to. */
    private static boolean backwardFails(Run run, Batch batch) {
        try (Temporaries temporaries = new Temporaries(true)) {
            Tensor nll = run.update.forward(batch, temporaries);
            Tensor incoming = temporaries.keep(Tensor.zeros(run.context, batch.rows().length));
            run.context.failAllocation(1, false);
            try {
                run.trainable.tape.backward(nll, incoming);
                return false;
            } catch (HexaplaException expected) {
                return true;
            } finally {
                run.context.failAllocation(0, false);
                run.trainable.tape.reset();
            }
        }
    }

    private static long furthest(long one, long other) {
        return Math.abs(other) > Math.abs(one) ? other : one;
    }

    static Map<String, Object> scope(ContextChoice choice, Keys parameters) {
        TrainRequest request = TrainRequest.parse(parameters.object("train"));
        int turns = parameters.integer("turns", 0, TURNS_MAX);
        parameters.finish();
        Data data = Run.load(request);
        long largest = 0;
        try (Context context = choice.open();
                Model model = Model.load(request.model(), context)) {
            List<Render.Example> examples = new ArrayList<>();
            Order order = new Order(request.spec().seed(), data.train().size(), request.spec().batch());
            for (int index : order.update(1).records()) {
                examples.add(data.train().get(index));
            }
            for (int turn = 0; turn < turns; turn++) {
                long before = context.memory().liveBytes();
                try (Trainable trainable = Trainable.initial(request.adapter(), request.spec(), model.config, context)) {
                    context.mark(1);
                    new Update(context, model, trainable, request.spec(), true).run(1, examples);
                }
                largest = furthest(largest, context.memory().liveBytes() - before);
            }
        }
        return Events.members("turns", turns, "failed_turn", 0, "difference_bytes", largest);
    }
}
