// What this library throws: one exception, and its kind for memory that ran out.
//
// Separate because it is what callers catch. It carries core's text byte for byte and adds nothing to it.

package hexapla;

/**
 * A call that the core refused. Unchecked, since any call can run out of memory. What a {@link PressureHook} threw during the
 * call is its {@linkplain #getCause() cause}.
 */
public sealed class HexaplaException extends RuntimeException permits OutOfDeviceMemoryException {
    private static final long serialVersionUID = 1L;

    /** Which status. */
    private final Status status;

    HexaplaException(Status status, String message, Throwable cause) {
        super(message, cause);
        this.status = status;
    }

    /** {@return what the core answered, never {@link Status#OK}} */
    public Status status() {
        return status;
    }
}
