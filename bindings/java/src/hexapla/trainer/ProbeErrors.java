// Probes of the errors axis: every status, a hook that throws, allocations and writes that fail.
//
// Separate by axis. Texts are handed on as the exception carries them; core's status must be reached by the call that the table
// names, never made up here.

package hexapla.trainer;

import hexapla.Checkpoint;
import hexapla.Context;
import hexapla.HexaplaException;
import hexapla.PressureHook;
import hexapla.Status;
import hexapla.Tape;
import hexapla.Tensor;
import hexapla.testing.FileSizeLimit;
import hexapla.testing.Raw;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/** Scenarios `status`, `callback_throws`, `fail_allocation`, `write_fails`. */
final class ProbeErrors {
    private static final long MEBIBYTE = 1 << 20;

    private ProbeErrors() {}

    /** What a call answered. errorType: the class of what it threw; "" where nothing was, as by a raw id. */
    private record Answer(Status status, String message, String errorType) {
        static Answer of(Raw.Answer raw) {
            return new Answer(raw.status(), raw.message(), "");
        }
    }

    /** Something that should fail. */
    @FunctionalInterface
    private interface Action {
        void run() throws Exception;
    }

    private static Answer attempt(Action action) throws Exception {
        try {
            action.run();
            return new Answer(Status.OK, "", "");
        } catch (HexaplaException refused) {
            return new Answer(refused.status(), refused.getMessage(), refused.getClass().getName());
        }
    }

    static Map<String, Object> status(ContextChoice choice, Keys parameters) throws Exception {
        String name = parameters.string("status");
        parameters.finish();
        Status wanted = null;
        for (Status status : Status.values()) {
            wanted = status.cName().equals(name) ? status : wanted;
        }
        if (wanted == null) {
            throw Failure.request("status", "status is " + Json.quote(name) + ", which is no status");
        }
        Answer answer = provoke(wanted, choice);
        return Events.members("status", answer.status.cName(), "message", answer.message, "error_type", answer.errorType);
    }

    private static Answer provoke(Status wanted, ContextChoice choice) throws Exception {
        return switch (wanted) {
            case OUT_OF_MEMORY -> outOfMemory(choice);
            case WRONG_THREAD -> wrongThread(choice);
            case BUSY -> busy(choice);
            case DEVICE -> attempt(() -> Context.open("cuda:255", choice.options()).close());
            case IO -> attempt(() -> Checkpoint.open("/nonexistent/hexapla").close());
            case FORMAT -> badFormat();
            case STALE_HANDLE, WRONG_KIND, UNSUPPORTED -> byId(wanted, choice);
            default -> {
                try (Context context = choice.open()) {
                    yield inContext(wanted, context);
                }
            }
        };
    }

    private static Answer inContext(Status wanted, Context context) throws Exception {
        return switch (wanted) {
            case INVALID_ARGUMENT -> attempt(() -> Tensor.zeros(context, -1).close());
            case NO_GRADIENT -> {
                try (Tape tape = Tape.open(context);
                        Tensor tensor = Tensor.zeros(context, 1)) {
                    yield attempt(() -> tape.backward(tensor, null));
                }
            }
            case NOT_FOUND, INTERNAL -> {
                context.failNext(wanted);
                yield attempt(() -> Tensor.zeros(context, 1).close());
            }
            default -> attempt(() -> Tensor.zeros(context, 1).close());
        };
    }

    private static Answer outOfMemory(ContextChoice choice) throws Exception {
        var options = choice.options().withMemoryLimit(MEBIBYTE).withSpill(false).withPressureHook(null);
        try (Context context = Context.open(choice.device(), options)) {
            return attempt(() -> Tensor.zeros(context, 524_288).close());
        }
    }

    private static Answer wrongThread(ContextChoice choice) throws Exception {
        try (Context context = Context.open(choice.device(), choice.options().withThreadsOwner(true))) {
            AtomicReference<Answer> answer = new AtomicReference<>();
            Thread.ofPlatform()
                    .start(() -> {
                        try {
                            answer.set(attempt(() -> Tensor.zeros(context, 1).close()));
                        } catch (Exception impossible) {
                            throw new IllegalStateException(impossible);
                        }
                    })
                    .join();
            return answer.get();
        }
    }

    private static Answer busy(ContextChoice choice) throws Exception {
        AtomicReference<Context> inHook = new AtomicReference<>();
        AtomicReference<Answer> answer = new AtomicReference<>(new Answer(Status.OK, "the hook was not called", ""));
        PressureHook hook = pressure -> {
            answer.set(attempt(() -> Tensor.zeros(inHook.get(), 1).close()));
            return false;
        };
        var options = choice.options().withMemoryLimit(MEBIBYTE).withSpill(false).withPressureHook(hook);
        try (Context context = Context.open(choice.device(), options)) {
            inHook.set(context);
            attempt(() -> Tensor.zeros(context, 524_288).close());
            return answer.get();
        } finally {
            // A hook that reaches its own context would keep both from the collector.
            inHook.set(null);
        }
    }

    private static Answer badFormat() throws Exception {
        Path folder = Files.createTempDirectory("hexapla-");
        Path file = folder.resolve("bad.safetensors");
        try {
            Files.write(file, new byte[7]);
            return attempt(() -> Checkpoint.open(file.toString()).close());
        } finally {
            Files.deleteIfExists(file);
            Files.delete(folder);
        }
    }

    private static Answer byId(Status wanted, ContextChoice choice) {
        long context = Raw.createContext(choice.device(), choice.options()).id();
        try {
            if (wanted == Status.UNSUPPORTED) {
                return Answer.of(Raw.createHalfTensor(context));
            }
            long tensor = Raw.createTensor(context).id();
            if (wanted == Status.WRONG_KIND) {
                Raw.Answer answer = Raw.contextDevice(tensor);
                Raw.releaseTensor(tensor);
                return Answer.of(answer);
            }
            Raw.releaseTensor(tensor);
            return Answer.of(Raw.readTensor(tensor));
        } finally {
            Raw.releaseContext(context);
        }
    }

    static Map<String, Object> callbackThrows(ContextChoice choice, Keys parameters) throws Exception {
        parameters.finish();
        IllegalStateException thrown = new IllegalStateException("thrown in the pressure hook");
        PressureHook hook = pressure -> {
            throw thrown;
        };
        var options = choice.options().withMemoryLimit(MEBIBYTE).withSpill(false).withPressureHook(hook);
        try (Context context = Context.open(choice.device(), options)) {
            Status status = Status.OK;
            boolean surfaced = false;
            try {
                Tensor.zeros(context, 524_288).close();
            } catch (HexaplaException refused) {
                status = refused.status();
                surfaced = refused.getCause() == thrown;
            }
            boolean alive = attempt(() -> Tensor.zeros(context, 256).close()).status == Status.OK;
            return Events.members("status", status.cName(), "surfaced", surfaced ? 1 : 0, "alive", alive ? 1 : 0);
        }
    }

    static Map<String, Object> failAllocation(ContextChoice choice, Keys parameters) throws Exception {
        TrainRequest request = TrainRequest.parse(parameters.object("train"));
        long nth = parameters.integer("nth", 0, Integer.MAX_VALUE);
        boolean persistent = parameters.integer("persistent", 0, 1) == 1;
        parameters.finish();
        try (Run run = Run.open(request, choice, Run.load(request))) {
            long before = run.context.memory().liveBytes();
            run.context.failAllocation(nth, persistent);
            Answer answer = attempt(() -> run.run(run.start + 1));
            run.context.failAllocation(0, false);
            return Events.members("fired", run.context.memory().injectedFailures(), "status", answer.status.cName(),
                    "live_difference", run.context.memory().liveBytes() - before);
        }
    }

    static Map<String, Object> writeFails(ContextChoice choice, Keys parameters) throws Exception {
        TrainRequest request = TrainRequest.parse(parameters.object("train"));
        long limit = parameters.integer("limit_bytes", 0, Integer.MAX_VALUE);
        parameters.finish();
        Checkpoints checkpoints = new Checkpoints(request);
        try (Run run = Run.open(request, choice, Run.load(request))) {
            long first = run.start + 1;
            checkpoints.makeOutput();
            run.run(first);
            Path saved = checkpoints.save(first, run.trainable);
            Answer answer;
            FileSizeLimit lowered = FileSizeLimit.lower(limit);
            try {
                run.run(first + 1);
                answer = attempt(() -> checkpoints.save(first + 1, run.trainable));
            } finally {
                lowered.restore();
            }
            return Events.members("status", answer.status.cName(), "previous_loads", loads(saved, request, run) ? 1 : 0);
        }
    }

    private static boolean loads(Path saved, TrainRequest request, Run run) throws IOException {
        String folder = saved.toString();
        try (Trainable loaded =
                Trainable.resumed(folder, folder, request.spec(), run.model.config, run.context)) {
            return Checkpoints.updateOf(folder, request.specDigest()) == run.start + 1
                    && !loaded.adapter.list().isEmpty();
        } catch (HexaplaException | Failure refused) {
            return false;
        }
    }
}
