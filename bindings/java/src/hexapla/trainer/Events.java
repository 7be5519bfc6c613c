// Events on standard output, one JSON object a line, flushed line by line.
//
// Separate because order and ids are the protocol's word: each event carries its request's id, and what a number's bits are is
// decided here once.

package hexapla.trainer;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Sends the events of one request. */
final class Events {
    private final OutputStream output;
    private final String id;

    Events(OutputStream output, String id) {
        this.output = output;
        this.id = id;
    }

    /** Keys and values in turn. */
    static Map<String, Object> members(Object... pairs) {
        Map<String, Object> members = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            members.put((String) pairs[i], pairs[i + 1]);
        }
        return members;
    }

    /** The bits of an f64, as `X_bits` shows them. */
    static String bits(double value) {
        return String.format("0x%016x", Double.doubleToRawLongBits(value));
    }

    /** Send one event; keys and values in turn. */
    void send(String event, Object... pairs) {
        Map<String, Object> members = members("id", id, "event", event);
        members.putAll(members(pairs));
        byte[] line = (Json.text(members) + "\n").getBytes(StandardCharsets.UTF_8);
        try {
            output.write(line);
            output.flush();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    void done(Object... pairs) {
        send("done", pairs);
    }

    void error(String status, String message, String where) {
        send("error", "status", status, "message", message, "where", where);
    }
}
