package hexapla

// Operations. Each makes one new tensor, which the caller closes, and is recorded on the tape (nil: not recorded) if an input needs a
// gradient there. All inputs are of one context. A shape, size or index that does not fit fails with InvalidArgument. Formulas: docs/spec.md.

import (
	"runtime"
	"unsafe"

	"hexapla-go/sys"
)

// Embedding takes rows of a table (vocabulary, width): out (len(ids), width).
func Embedding(tape *Tape, table *Tensor, ids []int32) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(table)
	return table.domain.tensor(func(f *frame) sys.Status {
		return sys.Embedding(tape.handle(), sys.Tensor(table.id), unsafe.SliceData(ids), uint64(len(ids)), f.tensor(), &f.failure)
	})
}

// RMSNorm is gain · x / sqrt(mean(x²) + epsilon) over the last axis; gain (width).
func RMSNorm(tape *Tape, x, gain *Tensor, epsilon float64) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	defer runtime.KeepAlive(gain)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.RMSNorm(tape.handle(), sys.Tensor(x.id), sys.Tensor(gain.id), epsilon, f.tensor(), &f.failure)
	})
}

// Linear is x wᵀ: x (rows, in), w (out, in).
func Linear(tape *Tape, x, w *Tensor) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	defer runtime.KeepAlive(w)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.Linear(tape.handle(), sys.Tensor(x.id), sys.Tensor(w.id), f.tensor(), &f.failure)
	})
}

// LoraLinear is x wᵀ + scale · (x aᵀ) bᵀ: a (rank, in), b (out, rank).
func LoraLinear(tape *Tape, x, w, a, b *Tensor, scale float64) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive([...]*Tensor{x, w, a, b})
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.LoraLinear(tape.handle(), sys.Tensor(x.id), sys.Tensor(w.id), sys.Tensor(a.id), sys.Tensor(b.id), scale,
			f.tensor(), &f.failure)
	})
}

// Rope turns pairs (i, i + width/2) of x (rows, heads, width) by position · theta^(−2i/width); one position a row.
func Rope(tape *Tape, x *Tensor, positions []int32, theta float64) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.Rope(tape.handle(), sys.Tensor(x.id), unsafe.SliceData(positions), uint64(len(positions)), theta, f.tensor(),
			&f.failure)
	})
}

// Attention is grouped-query attention inside records laid end to end: q (rows, heads, width), k and v (rows, kv_heads, width). starts
// holds each record's first row, then the row behind the last record.
func Attention(tape *Tape, q, k, v *Tensor, starts []int32, causal bool) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive([...]*Tensor{q, k, v})
	var past int32
	if causal {
		past = 1
	}
	return q.domain.tensor(func(f *frame) sys.Status {
		return sys.Attention(tape.handle(), sys.Tensor(q.id), sys.Tensor(k.id), sys.Tensor(v.id), unsafe.SliceData(starts),
			uint64(len(starts)), past, f.tensor(), &f.failure)
	})
}

// Swiglu is silu(gate) · up; both of one shape.
func Swiglu(tape *Tape, gate, up *Tensor) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(gate)
	defer runtime.KeepAlive(up)
	return gate.domain.tensor(func(f *frame) sys.Status {
		return sys.Swiglu(tape.handle(), sys.Tensor(gate.id), sys.Tensor(up.id), f.tensor(), &f.failure)
	})
}

// Add is a + b; both of one shape.
func Add(tape *Tape, a, b *Tensor) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(a)
	defer runtime.KeepAlive(b)
	return a.domain.tensor(func(f *frame) sys.Status {
		return sys.Add(tape.handle(), sys.Tensor(a.id), sys.Tensor(b.id), f.tensor(), &f.failure)
	})
}

// Scale is x · factor.
func Scale(tape *Tape, x *Tensor, factor float64) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.Scale(tape.handle(), sys.Tensor(x.id), factor, f.tensor(), &f.failure)
	})
}

// LinearCrossEntropy is −log softmax(h[rows[i]] wᵀ)[targets[i]], one f32 a label: h (rows, width), w (vocabulary, width).
func LinearCrossEntropy(tape *Tape, h, w *Tensor, rows, targets []int32) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(h)
	defer runtime.KeepAlive(w)
	if len(rows) != len(targets) {
		return nil, &Error{Status: InvalidArgument, Message: "rows and targets must be equally many"}
	}
	return h.domain.tensor(func(f *frame) sys.Status {
		return sys.LinearCrossEntropy(tape.handle(), sys.Tensor(h.id), sys.Tensor(w.id), unsafe.SliceData(rows),
			unsafe.SliceData(targets), uint64(len(rows)), f.tensor(), &f.failure)
	})
}

// Matmul is a b: a (m, k), b (k, n), any strides.
func Matmul(tape *Tape, a, b *Tensor) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(a)
	defer runtime.KeepAlive(b)
	return a.domain.tensor(func(f *frame) sys.Status {
		return sys.Matmul(tape.handle(), sys.Tensor(a.id), sys.Tensor(b.id), f.tensor(), &f.failure)
	})
}

// Softmax runs over the last axis. A row of −infinity alone gives zeros, and zero gradient.
func Softmax(tape *Tape, x *Tensor) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.Softmax(tape.handle(), sys.Tensor(x.id), f.tensor(), &f.failure)
	})
}

// ReduceSum sums over one axis, which is removed (of a one-axis tensor: result (1)).
func ReduceSum(tape *Tape, x *Tensor, axis int) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.ReduceSum(tape.handle(), sys.Tensor(x.id), uint32(axis), f.tensor(), &f.failure)
	})
}

// Transpose is a view of x with its last two axes swapped.
func Transpose(tape *Tape, x *Tensor) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.Transpose(tape.handle(), sys.Tensor(x.id), f.tensor(), &f.failure)
	})
}

// Reshape is a view of x, which is contiguous, in another shape of as many elements.
func Reshape(tape *Tape, x *Tensor, shape ...int64) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.Reshape(tape.handle(), sys.Tensor(x.id), uint32(len(shape)), unsafe.SliceData(shape), f.tensor(), &f.failure)
	})
}

// AsStrided is a view of x, which is contiguous, by strides and offset in elements; a stride of 0 repeats an element.
func AsStrided(tape *Tape, x *Tensor, shape, strides []int64, offset int64) (*Tensor, error) {
	defer runtime.KeepAlive(tape)
	defer runtime.KeepAlive(x)
	if len(shape) != len(strides) {
		return nil, &Error{Status: InvalidArgument, Message: "shape and strides must be equally many"}
	}
	return x.domain.tensor(func(f *frame) sys.Status {
		return sys.AsStrided(tape.handle(), sys.Tensor(x.id), uint32(len(shape)), unsafe.SliceData(shape),
			unsafe.SliceData(strides), offset, f.tensor(), &f.failure)
	})
}
