// The operations: each makes one new tensor.
//
// Separate from Tensor because these compute and can be recorded. Argument by argument what the header says; no formula lives
// here.

package hexapla;

import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.OpCalls;

/**
 * Functions from tensors to a new tensor, which is to be closed. The tape may be null: then nothing is recorded. All tensors are of
 * one context; a shape, size or index that does not fit is {@link Status#INVALID_ARGUMENT}.
 */
public final class Ops {
    private Ops() {}

    /**
     * Rows of a table: result (ids, width).
     *
     * @param tape where to record, or null
     * @param table (vocabulary, width)
     * @param ids row numbers
     * @return to be closed
     */
    public static Tensor embedding(Tape tape, Tensor table, int[] ids) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.embedding(Handle.id(tape), table.id(), call.ints(ids), ids.length, call.out, call.error));
            return new Tensor(call.id(), table.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(table);
        }
    }

    /**
     * Root mean square norm over the last axis: gain · x / sqrt(mean(x²) + epsilon).
     *
     * @param tape where to record, or null
     * @param x (…, width)
     * @param gain (width)
     * @param epsilon ≥ 0, inside the root
     * @return to be closed
     */
    public static Tensor rmsNorm(Tape tape, Tensor x, Tensor gain, double epsilon) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.rmsNorm(Handle.id(tape), x.id(), gain.id(), epsilon, call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
            reachabilityFence(gain);
        }
    }

    /**
     * x wᵀ, of shape (rows, out).
     *
     * @param tape where to record, or null
     * @param x (rows, in)
     * @param w (out, in)
     * @return to be closed
     */
    public static Tensor linear(Tape tape, Tensor x, Tensor w) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.linear(Handle.id(tape), x.id(), w.id(), call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
            reachabilityFence(w);
        }
    }

    /**
     * x wᵀ + scale · (x aᵀ) bᵀ, of shape (rows, out).
     *
     * @param tape where to record, or null
     * @param x (rows, in)
     * @param w (out, in)
     * @param a (rank, in)
     * @param b (out, rank)
     * @param scale the adapter's factor
     * @return to be closed
     */
    public static Tensor loraLinear(Tape tape, Tensor x, Tensor w, Tensor a, Tensor b, double scale) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.loraLinear(Handle.id(tape), x.id(), w.id(), a.id(), b.id(), scale, call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
            reachabilityFence(w);
            reachabilityFence(a);
            reachabilityFence(b);
        }
    }

    /**
     * Rotary position embedding, half-split pairs.
     *
     * @param tape where to record, or null
     * @param x (rows, heads, width)
     * @param positions one a row, ≥ 0
     * @param theta the base
     * @return to be closed
     */
    public static Tensor rope(Tape tape, Tensor x, int[] positions, double theta) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.rope(
                    Handle.id(tape), x.id(), call.ints(positions), positions.length, theta, call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
        }
    }

    /**
     * Grouped-query attention inside records laid end to end.
     *
     * @param tape where to record, or null
     * @param q (rows, heads, width)
     * @param k (rows, kv_heads, width)
     * @param v as k
     * @param starts each record's first row, then the row behind the last record
     * @param causal a row sees no later row
     * @return to be closed
     */
    public static Tensor attention(Tape tape, Tensor q, Tensor k, Tensor v, int[] starts, boolean causal) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.attention(
                    Handle.id(tape), q.id(), k.id(), v.id(), call.ints(starts), starts.length, causal ? 1 : 0, call.out, call.error));
            return new Tensor(call.id(), q.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(q);
            reachabilityFence(k);
            reachabilityFence(v);
        }
    }

    /**
     * silu(gate) · up, element by element.
     *
     * @param tape where to record, or null
     * @param gate any shape
     * @param up the same shape
     * @return to be closed
     */
    public static Tensor swiglu(Tape tape, Tensor gate, Tensor up) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.swiglu(Handle.id(tape), gate.id(), up.id(), call.out, call.error));
            return new Tensor(call.id(), gate.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(gate);
            reachabilityFence(up);
        }
    }

    /**
     * a + b.
     *
     * @param tape where to record, or null
     * @param a any shape
     * @param b the same shape
     * @return to be closed
     */
    public static Tensor add(Tape tape, Tensor a, Tensor b) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.add(Handle.id(tape), a.id(), b.id(), call.out, call.error));
            return new Tensor(call.id(), a.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(a);
            reachabilityFence(b);
        }
    }

    /**
     * x · factor.
     *
     * @param tape where to record, or null
     * @param x any shape
     * @param factor the factor
     * @return to be closed
     */
    public static Tensor scale(Tape tape, Tensor x, double factor) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.scale(Handle.id(tape), x.id(), factor, call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
        }
    }

    /**
     * Cross-entropy of a linear head at chosen rows: −log softmax(h[rows[i]] wᵀ)[targets[i]].
     *
     * @param tape where to record, or null
     * @param h (rows, width)
     * @param w (vocabulary, width)
     * @param rows row numbers of h
     * @param targets one id a row number
     * @return to be closed
     */
    public static Tensor linearCrossEntropy(Tape tape, Tensor h, Tensor w, int[] rows, int[] targets) {
        sameLength("rows", rows.length, "targets", targets.length);
        try (Call call = Call.begin()) {
            call.check(OpCalls.linearCrossEntropy(
                    Handle.id(tape), h.id(), w.id(), call.ints(rows), call.ints(targets), targets.length, call.out, call.error));
            return new Tensor(call.id(), h.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(h);
            reachabilityFence(w);
        }
    }

    /**
     * a b, of shape (m, n).
     *
     * @param tape where to record, or null
     * @param a (m, k)
     * @param b (k, n)
     * @return to be closed
     */
    public static Tensor matmul(Tape tape, Tensor a, Tensor b) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.matmul(Handle.id(tape), a.id(), b.id(), call.out, call.error));
            return new Tensor(call.id(), a.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(a);
            reachabilityFence(b);
        }
    }

    /**
     * Softmax over the last axis; a row of −infinity alone gives zeros.
     *
     * @param tape where to record, or null
     * @param x any shape
     * @return to be closed
     */
    public static Tensor softmax(Tape tape, Tensor x) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.softmax(Handle.id(tape), x.id(), call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
        }
    }

    /**
     * Sum over one axis, which is removed.
     *
     * @param tape where to record, or null
     * @param x any shape
     * @param axis below the rank
     * @return to be closed
     */
    public static Tensor reduceSum(Tape tape, Tensor x, int axis) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.reduceSum(Handle.id(tape), x.id(), axis, call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
        }
    }

    /**
     * A view with the last two axes swapped.
     *
     * @param tape where to record, or null
     * @param x rank ≥ 2
     * @return to be closed
     */
    public static Tensor transpose(Tape tape, Tensor x) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.transpose(Handle.id(tape), x.id(), call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
        }
    }

    /**
     * A view in another shape of as many elements.
     *
     * @param tape where to record, or null
     * @param x contiguous
     * @param shape sizes ≥ 0
     * @return to be closed
     */
    public static Tensor reshape(Tape tape, Tensor x, long... shape) {
        try (Call call = Call.begin()) {
            call.check(OpCalls.reshape(Handle.id(tape), x.id(), shape.length, call.longs(shape), call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
        }
    }

    /**
     * A strided view into x's elements.
     *
     * @param tape where to record, or null
     * @param x contiguous
     * @param shape sizes ≥ 0
     * @param strides as many, in elements, ≥ 0
     * @param offset of the first element, in elements of x
     * @return to be closed
     */
    public static Tensor asStrided(Tape tape, Tensor x, long[] shape, long[] strides, long offset) {
        sameLength("shape", shape.length, "strides", strides.length);
        try (Call call = Call.begin()) {
            call.check(OpCalls.asStrided(
                    Handle.id(tape), x.id(), shape.length, call.longs(shape), call.longs(strides), offset, call.out, call.error));
            return new Tensor(call.id(), x.pressure);
        } finally {
            reachabilityFence(tape);
            reachabilityFence(x);
        }
    }

    /** C takes one count for both arrays: it would read past the shorter one. */
    private static void sameLength(String one, int ofOne, String other, int ofOther) {
        if (ofOne != ofOther) {
            throw new IllegalArgumentException(one + " has " + ofOne + " numbers, " + other + " has " + ofOther);
        }
    }
}
