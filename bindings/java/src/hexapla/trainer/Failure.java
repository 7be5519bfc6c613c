// What ends a request in `error`, as an exception of the trainer's own.
//
// Separate because it carries the protocol's three fields. What the core refused is a HexaplaException instead and keeps its own
// status and text.

package hexapla.trainer;

/** Status, message and place of an `error` event. */
final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** As the protocol names it: checkpoint, record, request, spec, tokenizer, io, non_finite. */
    final String status;
    /** File and line, key, tensor or update. */
    final String where;

    Failure(String status, String where, String message) {
        super(message);
        this.status = status;
        this.where = where;
    }

    static Failure request(String key, String message) {
        return new Failure("request", key, message);
    }

    static Failure checkpoint(String where, String message) {
        return new Failure("checkpoint", where, message);
    }

    static Failure io(String where, String message) {
        return new Failure("io", where, message);
    }
}
