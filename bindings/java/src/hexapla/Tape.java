// A tape: the record of operations, and the way back through it.
//
// Separate because recording is explicit: an op without a tape is never recorded, whatever else is going on.

package hexapla;

import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.TapeCalls;

/** Records operations given it, and adds gradients into the tensors it watches. */
public final class Tape extends Handle {
    private final PressureUpcall pressure;

    private Tape(long id, PressureUpcall pressure) {
        super(Kind.TAPE, id);
        this.pressure = pressure;
    }

    /**
     * An empty tape.
     *
     * @param context whose tensors it records
     * @return to be closed
     */
    public static Tape open(Context context) {
        try (Call call = Call.begin()) {
            call.check(TapeCalls.create(context.id(), call.out, call.error));
            return new Tape(call.id(), context.pressure);
        } finally {
            reachabilityFence(context);
        }
    }

    /**
     * A second owner of this tape.
     *
     * @return to be closed on its own
     */
    public Tape copy() {
        try (Call call = Call.begin()) {
            call.check(TapeCalls.retain(id(), call.out, call.error));
            return new Tape(call.id(), pressure);
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Ask for a gradient: what is recorded later lets {@link #backward} add into it.
     *
     * @param tensor   what is watched
     * @param gradient contiguous, of the tensor's shape; null: the tape makes one, of zeros
     */
    public void watch(Tensor tensor, Tensor gradient) {
        try (Call call = Call.begin()) {
            call.check(TapeCalls.watch(id(), tensor.id(), Handle.id(gradient), call.error));
        } finally {
            reachabilityFence(this);
            reachabilityFence(tensor);
            reachabilityFence(gradient);
        }
    }

    /**
     * The gradient of a watched tensor.
     *
     * @param tensor a watched one
     * @return a share of the gradient, to be closed
     * @throws HexaplaException {@link Status#NO_GRADIENT} if it is not watched
     */
    public Tensor gradient(Tensor tensor) {
        try (Call call = Call.begin()) {
            call.check(TapeCalls.gradient(id(), tensor.id(), call.out, call.error));
            return new Tensor(call.id(), pressure);
        } finally {
            reachabilityFence(this);
            reachabilityFence(tensor);
        }
    }

    /**
     * Go back through the records, newest first. They are gone afterwards, after a failure too.
     *
     * @param output   made by an op recorded here
     * @param incoming the gradient at the output, of its shape; null: ones
     * @throws HexaplaException {@link Status#NO_GRADIENT}, {@link Status#INVALID_ARGUMENT}, {@link Status#OUT_OF_MEMORY}
     */
    public void backward(Tensor output, Tensor incoming) {
        try (Call call = Call.begin()) {
            call.check(TapeCalls.backward(id(), output.id(), Handle.id(incoming), call.error));
        } finally {
            reachabilityFence(this);
            reachabilityFence(output);
            reachabilityFence(incoming);
        }
    }

    /** Drop the records and what they keep alive, without going back. Watched tensors stay watched. */
    public void reset() {
        try (Call call = Call.begin()) {
            call.check(TapeCalls.reset(id(), call.error));
        } finally {
            reachabilityFence(this);
        }
    }
}
