// Declarations of hexapla/ledger.h: names of the ledger's operations.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/ledger.h}; pointers are segments, ids are longs. */
public final class LedgerCalls {
    private static final MethodHandle OPERATION_NAME =
            Library.function("hxp_operation_name", ADDRESS, JAVA_SHORT);

    private LedgerCalls() {}

    /** {@code hxp_operation_name}. */
    public static MemorySegment operationName(short operation) {
        try {
            return (MemorySegment) OPERATION_NAME.invokeExact(operation);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
