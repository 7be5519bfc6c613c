// A tensor: device memory with a shape, all f32.
//
// Separate from Ops because nothing here computes: a tensor is made, filled, read, shared and closed.

package hexapla;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.Constants;
import hexapla.sys.Structs;
import hexapla.sys.TensorCalls;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A share of a tensor. {@link #copy} makes another owner of the same values, not other values. */
public final class Tensor extends Handle {
    private static final int DIGEST_BYTES = 65;

    /** Keeps the context's hook callable while this tensor can be used. */
    final PressureUpcall pressure;

    Tensor(long id, PressureUpcall pressure) {
        super(Kind.TENSOR, id);
        this.pressure = pressure;
    }

    /**
     * A tensor of zeros.
     *
     * @param context where it lives; it holds a share of it
     * @param shape   1 … 8 sizes ≥ 0
     * @return to be closed
     * @throws HexaplaException {@link Status#INVALID_ARGUMENT}, {@link Status#OUT_OF_MEMORY}
     */
    public static Tensor zeros(Context context, long... shape) {
        try (Call call = Call.begin()) {
            call.check(TensorCalls.create(
                    context.id(), Constants.HXP_DTYPE_F32, shape.length, call.longs(shape), call.out, call.error));
            return new Tensor(call.id(), context.pressure);
        } finally {
            reachabilityFence(context);
        }
    }

    /**
     * A tensor of given values.
     *
     * @param context where it lives
     * @param values  row-major, as many as the shape has elements
     * @param shape   1 … 8 sizes ≥ 0
     * @return to be closed
     */
    public static Tensor of(Context context, float[] values, long... shape) {
        Tensor tensor = zeros(context, shape);
        try {
            tensor.write(values);
            return tensor;
        } catch (Throwable thrown) {
            tensor.close();
            throw thrown;
        }
    }

    /**
     * A second owner of the same values.
     *
     * @return to be closed on its own
     */
    public Tensor copy() {
        try (Call call = Call.begin()) {
            call.check(TensorCalls.retain(id(), call.out, call.error));
            return new Tensor(call.id(), pressure);
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * The context that this tensor lives in.
     *
     * @return a share of it, to be closed
     */
    public Context context() {
        try (Call call = Call.begin()) {
            call.check(TensorCalls.context(id(), call.out, call.error));
            return new Context(call.id(), pressure);
        } finally {
            reachabilityFence(this);
        }
    }

    /** {@return shape, strides and sizes} */
    public TensorInfo info() {
        try (Call call = Call.begin()) {
            MemorySegment struct = call.struct(Structs.TENSOR_INFO);
            TensorCalls.infoInit(struct);
            call.check(TensorCalls.describe(id(), struct, call.error));
            return TensorInfo.of(struct);
        } finally {
            reachabilityFence(this);
        }
    }

    /** {@return the name of the device that the buffer really lies on} */
    public String device() {
        try (Call call = Call.begin()) {
            MemorySegment text = call.bytes(Context.DEVICE_BYTES);
            call.check(TensorCalls.device(id(), text, Context.DEVICE_BYTES, call.error));
            return text.getString(0);
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Copy values into this tensor, which may be a view with gaps.
     *
     * @param values row-major, as many as there are elements
     */
    public void write(float[] values) {
        try (Call call = Call.begin()) {
            long bytes = 4L * values.length;
            MemorySegment data = call.bytes(bytes);
            MemorySegment.copy(values, 0, data, JAVA_FLOAT, 0, values.length);
            call.check(TensorCalls.write(id(), data, bytes, call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /** {@return a copy of the values, row-major; blocks until it is made} */
    public float[] read() {
        float[] values = new float[Math.toIntExact(info().elements())];
        try (Call call = Call.begin()) {
            long bytes = 4L * values.length;
            MemorySegment data = call.bytes(bytes);
            call.check(TensorCalls.read(id(), data, bytes, call.error));
            MemorySegment.copy(data, JAVA_FLOAT, 0, values, 0, values.length);
            return values;
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Set every element, in place.
     *
     * @param value rounded to f32
     */
    public void fill(double value) {
        try (Call call = Call.begin()) {
            call.check(TensorCalls.fill(id(), value, call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Add to every element, in place; every owner and view sees it.
     *
     * @param value what is added
     */
    public void addInPlace(double value) {
        try (Call call = Call.begin()) {
            call.check(TensorCalls.addInPlace(id(), value, call.error));
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * SHA-256 over the f32 little-endian values of the tensors, one after the other.
     *
     * @param tensors at least one, of one context
     * @return 64 lower-case hex digits
     */
    public static String digest(List<Tensor> tensors) {
        try (Call call = Call.begin()) {
            MemorySegment text = call.bytes(DIGEST_BYTES);
            text.set(JAVA_BYTE, 0, (byte) 0);
            call.check(TensorCalls.digest(call.ids(tensors), tensors.size(), text, DIGEST_BYTES, call.error));
            return text.getString(0);
        } finally {
            reachabilityFence(tensors);
        }
    }
}
