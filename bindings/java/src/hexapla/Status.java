// What a call answers, as Java names it.
//
// Separate because both the exception and the callers that act on one status need it. The numbers are the header's.

package hexapla;

/** A status of the core; the ordinal is its number in C. */
public enum Status {
    /** The call did what it says. */
    OK,
    /** A shape, size, index or pointer is wrong. */
    INVALID_ARGUMENT,
    /** The context's limit or the device is full; the context stays usable. */
    OUT_OF_MEMORY,
    /** The handle was closed already. */
    STALE_HANDLE,
    /** The handle is of another kind. */
    WRONG_KIND,
    /** A context made for its maker's thread alone was called from another. */
    WRONG_THREAD,
    /** A call from inside the context's own pressure hook. */
    BUSY,
    /** No such device, or it refused. */
    DEVICE,
    /** Backward is not defined here. */
    NO_GRADIENT,
    /** The operating system refused a file. */
    IO,
    /** A file's bytes break their format. */
    FORMAT,
    /** No tensor, token or key of that name. */
    NOT_FOUND,
    /** Well formed, but this core does not do it. */
    UNSUPPORTED,
    /** A bug in core. */
    INTERNAL;

    private static final Status[] ALL = values();

    /** {@return the name in C, as in {@code HXP_OUT_OF_MEMORY}} */
    public String cName() {
        return "HXP_" + name();
    }

    /**
     * The status of a number.
     *
     * @param number as the core answered it
     * @return the status
     * @throws IllegalStateException for a number that is none: a bug, nothing to act on
     */
    public static Status of(int number) {
        if (number < 0 || number >= ALL.length) {
            throw new IllegalStateException("the core answered status " + number + ", which this binding does not know");
        }
        return ALL[number];
    }
}
