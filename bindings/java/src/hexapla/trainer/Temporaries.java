// When a micro-batch's temporaries end.
//
// Separate because the two answers are a request's choice: together when the micro-batch is done, or never by this program, for the
// collector to find.

package hexapla.trainer;

import hexapla.Scope;
import hexapla.Tensor;

/** The temporaries of one micro-batch. */
final class Temporaries implements AutoCloseable {
    private final Scope scope = new Scope();
    private final boolean explicit;

    Temporaries(boolean explicit) {
        this.explicit = explicit;
    }

    Tensor keep(Tensor tensor) {
        return explicit ? scope.keep(tensor) : tensor;
    }

    @Override
    public void close() {
        scope.close();
    }
}
