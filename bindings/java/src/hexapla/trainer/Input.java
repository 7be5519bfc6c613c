// Standard input, read ahead by a thread of its own.
//
// Separate because the end of input must stop a training that runs: somebody has to read while the trainer computes.

package hexapla.trainer;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The request lines in order. */
final class Input {
    /** Of a request, in bytes. */
    private static final int LINE_MAX = 16 << 20;

    /** One line; without bytes: the end of input. `problem` is set when it cannot be read as a line. */
    record Line(long number, byte[] bytes, String problem) {}

    private static final Line END = new Line(0, null, null);

    private final BlockingQueue<Line> queue = new LinkedBlockingQueue<>();
    private volatile boolean ended;

    Input(InputStream stream) {
        Thread.ofPlatform().daemon().name("stdin").start(() -> read(new Lines(stream, LINE_MAX)));
    }

    /** The next line, or null at the end; waits. */
    Line next() throws InterruptedException {
        Line line = queue.take();
        return line == END ? null : line;
    }

    /** Whether standard input was closed, even if lines are still to be answered. */
    boolean ended() {
        return ended;
    }

    private void read(Lines lines) {
        try {
            while (lines.advance()) {
                String problem = lines.tooLong ? "line longer than " + LINE_MAX + " bytes" : null;
                queue.add(new Line(lines.number, Arrays.copyOf(lines.bytes, lines.length), problem));
            }
        } catch (IOException error) {
            System.err.println("stdin: " + error.getMessage());
        } finally {
            ended = true;
            queue.add(END);
        }
    }
}
