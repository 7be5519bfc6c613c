// The trainer: requests on standard input, events on standard output.
//
// Separate because it alone knows how a process of the protocol lives and ends: who answers a request, what a failure says, and
// which exit status follows. Answers nothing itself but `bye`.

package hexapla.trainer;

import hexapla.Core;
import hexapla.HexaplaException;
import hexapla.Memory;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;

/** Reads requests until `bye` or the end of input. */
public final class Main {
    private static final int FAILED = 1;
    private static final int UNREADABLE = 2;
    private static final int HANDLES_LIVE = 3;
    private static final Duration COLLECT_LIMIT = Duration.ofSeconds(10);

    private final OutputStream output = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16);
    private final Input input = new Input(System.in);
    private int exitStatus;

    private Main() {}

    /** Takes no arguments. */
    public static void main(String[] arguments) throws InterruptedException {
        // Whatever prints by accident must not look like an event.
        System.setOut(System.err);
        System.exit(new Main().serve());
    }

    private int serve() throws InterruptedException {
        while (true) {
            Input.Line line = input.next();
            if (line == null) {
                return bye(new Events(output, ""));
            }
            Map<?, ?> request = read(line);
            if (request == null) {
                continue;
            }
            Events events = new Events(output, (String) request.get("id"));
            if (answer(request, events)) {
                return bye(events);
            }
        }
    }

    /** The line as a request with an id, or null after an `error` with none. */
    private Map<?, ?> read(Input.Line line) {
        String problem = line.problem();
        if (problem == null) {
            try {
                if (Json.parse(line.bytes(), line.bytes().length) instanceof Map<?, ?> request
                        && request.get("id") instanceof String) {
                    return request;
                }
                problem = "not an object with a string id";
            } catch (Json.Malformed error) {
                problem = error.getMessage();
            }
        }
        exitStatus = Math.max(exitStatus, UNREADABLE);
        new Events(output, "").error("request", problem, "stdin:" + line.number());
        return null;
    }

    /** Answer one request; true when it was a good `bye`, which is still to be answered. */
    private boolean answer(Map<?, ?> request, Events events) {
        try {
            Keys keys = new Keys(request, "request", "");
            keys.string("id");
            long protocol = keys.integer("protocol");
            if (protocol != 1) {
                throw keys.failure("protocol", "is " + protocol + ", this trainer speaks 1");
            }
            String name = keys.string("request");
            if (name.equals("bye")) {
                keys.finish();
                return true;
            }
            dispatch(name, keys, events);
        } catch (HexaplaException refused) {
            fail(events, refused.status().cName(), refused.getMessage(), where(refused));
        } catch (Failure failure) {
            fail(events, failure.status, failure.getMessage(), failure.where);
        } catch (Exception | StackOverflowError | OutOfMemoryError | LinkageError bug) {
            bug.printStackTrace();
            fail(events, "internal", bug.toString(), where(bug));
        }
        return false;
    }

    private void dispatch(String name, Keys keys, Events events) throws Exception {
        switch (name) {
            case "hello" -> Requests.hello(keys, events);
            case "abi" -> Abi.answer(keys, events);
            case "operators" -> Operators.answer(keys, events);
            case "load" -> Load.answer(keys, events);
            case "render" -> Requests.render(keys, events);
            case "evaluate" -> Requests.evaluate(keys, events);
            case "train" -> Train.answer(keys, events, input);
            case "probe" -> Probes.answer(keys, events);
            default -> events.send("skipped", "reason", "the request " + Json.quote(name) + " is not known here");
        }
    }

    private void fail(Events events, String status, String message, String where) {
        exitStatus = Math.max(exitStatus, FAILED);
        events.error(status, message, where);
    }

    /** The trainer's own line that a failure came from. */
    private static String where(Throwable thrown) {
        for (StackTraceElement frame : thrown.getStackTrace()) {
            if (frame.getClassName().startsWith("hexapla.trainer.")) {
                return frame.getFileName() + ":" + frame.getLineNumber();
            }
        }
        return "";
    }

    private int bye(Events events) {
        // What a request lost on purpose may still wait for the collector.
        Core.collectTo(0, COLLECT_LIMIT);
        Memory memory = Core.memory();
        events.send("bye", "handles_live", memory.liveHandles(), "bytes_live", memory.liveBytes());
        return memory.liveHandles() > 0 ? Math.max(exitStatus, HANDLES_LIVE) : exitStatus;
    }
}
