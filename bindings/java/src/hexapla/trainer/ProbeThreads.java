// Probes of the threads axis: devices, error texts and whole runs, while tasks move between OS threads.
//
// Separate by axis. Tasks are virtual threads, this language's own unit; what blocks in native code holds its carrier, so the
// blocked ones are virtual only as far as carriers go round.

package hexapla.trainer;

import hexapla.Context;
import hexapla.Gate;
import hexapla.HexaplaException;
import hexapla.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/** Scenarios `device_of_context`, `error_text`, `two_contexts`. */
final class ProbeThreads {
    private static final int COUNT_MAX = 1 << 20;

    private ProbeThreads() {}

    /** Run tasks at the same time, each on a virtual thread; the first failure is thrown when all have ended. */
    static <T> List<T> atOnce(List<Callable<T>> tasks) throws Exception {
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            List<T> results = new ArrayList<>();
            for (Future<T> future : executor.invokeAll(tasks)) {
                results.add(future.get());
            }
            return results;
        }
    }

    static Map<String, Object> deviceOfContext(ContextChoice choice, Keys parameters) throws Exception {
        int workers = parameters.integer("workers", 1, COUNT_MAX);
        int rounds = parameters.integer("rounds", 1, COUNT_MAX);
        int blocked = parameters.integer("blocked", 0, COUNT_MAX);
        parameters.finish();
        AtomicLong right = new AtomicLong();
        AtomicLong wrong = new AtomicLong();
        AtomicLong errors = new AtomicLong();
        List<Thread> waiters = new ArrayList<>();
        try (Gate gate = Gate.create()) {
            for (int i = 0; i < blocked; i++) {
                waiters.add(blocker(i, workers).start(gate::await));
            }
            try {
                List<Callable<Void>> tasks = new ArrayList<>();
                for (int w = 0; w < workers; w++) {
                    String device = "cpu:" + w % 2;
                    tasks.add(() -> {
                        for (int round = 0; round < rounds; round++) {
                            (askDevice(device, choice, errors) ? right : wrong).incrementAndGet();
                        }
                        return null;
                    });
                }
                atOnce(tasks);
            } finally {
                gate.open();
                for (Thread waiter : waiters) {
                    waiter.join();
                }
            }
        }
        wrong.addAndGet(-errors.get());
        return Events.members("right", right.get(), "wrong", wrong.get(), "errors", errors.get());
    }

    /** Half of the carriers may be blocked, so that the workers keep some. */
    private static Thread.Builder blocker(int number, int workers) {
        int carriers = Integer.getInteger(
                "jdk.virtualThreadScheduler.parallelism", Runtime.getRuntime().availableProcessors());
        return number < carriers - workers ? Thread.ofVirtual() : Thread.ofPlatform();
    }

    /** Whether a tensor lies on the device that was chosen; a call that failed counts as an error and as no. */
    private static boolean askDevice(String device, ContextChoice choice, AtomicLong errors) {
        try (Context context = Context.open(device, choice.options())) {
            Thread.yield();
            try (Tensor tensor = Tensor.zeros(context, 16)) {
                Thread.yield();
                return tensor.device().equals(device);
            }
        } catch (HexaplaException failed) {
            errors.incrementAndGet();
            return false;
        }
    }

    static Map<String, Object> errorText(ContextChoice choice, Keys parameters) throws Exception {
        int workers = parameters.integer("workers", 1, COUNT_MAX);
        int calls = parameters.integer("calls", 1, COUNT_MAX);
        parameters.finish();
        AtomicLong own = new AtomicLong();
        AtomicLong foreign = new AtomicLong();
        AtomicLong empty = new AtomicLong();
        try (Context context = choice.open()) {
            List<Callable<Void>> tasks = new ArrayList<>();
            for (int worker = 0; worker < workers; worker++) {
                int first = 1000 * worker + 1;
                tasks.add(() -> {
                    for (int call = 0; call < calls; call++) {
                        String text = textOfShape(context, first + call);
                        (text.isEmpty() ? empty : holds(text, first + call) ? own : foreign).incrementAndGet();
                    }
                    return null;
                });
            }
            atOnce(tasks);
        }
        return Events.members("own", own.get(), "foreign", foreign.get(), "empty", empty.get());
    }

    private static String textOfShape(Context context, int number) {
        try (Tensor impossible = Tensor.zeros(context, -number)) {
            return "shape " + impossible.info().elements() + " was accepted";
        } catch (HexaplaException refused) {
            Thread.yield();
            return refused.getMessage();
        }
    }

    /** Whether the text names −number, not as a part of a longer one. */
    private static boolean holds(String text, int number) {
        return Pattern.compile("-" + number + "(?![0-9])").matcher(text).find();
    }

    static Map<String, Object> twoContexts(ContextChoice choice, Keys parameters) throws Exception {
        TrainRequest request = TrainRequest.parse(parameters.object("train"));
        int updates = parameters.integer("updates", 1, request.spec().updates());
        parameters.finish();
        Data data = Run.load(request);
        Callable<String> trained = () -> trace(request, choice, data, updates);
        String alone = trained.call();
        boolean equal = atOnce(List.of(trained, trained)).stream().allMatch(alone::equals);
        return Events.members("equal", equal ? 1 : 0);
    }

    /** The bits of every loss and norm, and the adapter at the end. */
    private static String trace(TrainRequest request, ContextChoice choice, Data data, int updates) {
        StringBuilder trace = new StringBuilder();
        try (Run run = Run.open(request, choice, data)) {
            for (long k = run.start + 1; k <= run.start + updates; k++) {
                Update.Result result = run.run(k);
                trace.append(Events.bits(result.loss())).append(Events.bits(result.norm()));
            }
            return trace.append(run.trainable.adapter.digest()).toString();
        }
    }
}
