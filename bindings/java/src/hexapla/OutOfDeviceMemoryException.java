// The exception that a program can act on: release something, take less, try again.
//
// Separate from its parent so that it can be caught by its class. It is not Java's OutOfMemoryError: the heap is not full.

package hexapla;

/** {@link Status#OUT_OF_MEMORY}: the context's limit or the device is full, also after the pressure hook. The context stays usable. */
public final class OutOfDeviceMemoryException extends HexaplaException {
    private static final long serialVersionUID = 1L;

    OutOfDeviceMemoryException(String message, Throwable cause) {
        super(Status.OUT_OF_MEMORY, message, cause);
    }
}
