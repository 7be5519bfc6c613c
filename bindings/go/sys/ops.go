package sys

// Operations. A tape of 0 means: not recorded. The contract of each call stands in hexapla/ops.h.

// #include <hexapla/ops.h>
import "C"

import "unsafe"

// Embedding is hxp_embedding. Rows of a table: out (count, width), out[i] = table[ids[i]].
func Embedding(tape Tape, table Tensor, ids *int32, count uint64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_embedding(C.hxp_tape(tape), C.hxp_tensor(table), (*C.int32_t)(unsafe.Pointer(ids)), C.uint64_t(count), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// RMSNorm is hxp_rms_norm. Root mean square norm over the last axis: gain · x / sqrt(mean(x²) + epsilon).
func RMSNorm(tape Tape, x, gain Tensor, epsilon float64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_rms_norm(C.hxp_tape(tape), C.hxp_tensor(x), C.hxp_tensor(gain), C.double(epsilon), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Linear is hxp_linear. x wᵀ: x (rows, in), w (out, in), result (rows, out).
func Linear(tape Tape, x, w Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_linear(C.hxp_tape(tape), C.hxp_tensor(x), C.hxp_tensor(w), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// LoraLinear is hxp_lora_linear. x wᵀ + scale · (x aᵀ) bᵀ: x (rows, in), w (out, in), a (rank, in), b (out, rank), result (rows,
// out).
func LoraLinear(tape Tape, x, w, a, b Tensor, scale float64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_lora_linear(C.hxp_tape(tape), C.hxp_tensor(x), C.hxp_tensor(w), C.hxp_tensor(a), C.hxp_tensor(b), C.double(scale), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Rope is hxp_rope. Rotary position embedding, half-split pairs (i, i + width/2), angle position · theta^(−2i/width).
func Rope(tape Tape, x Tensor, positions *int32, count uint64, theta float64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_rope(C.hxp_tape(tape), C.hxp_tensor(x), (*C.int32_t)(unsafe.Pointer(positions)), C.uint64_t(count), C.double(theta), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Attention is hxp_attention. Grouped-query attention inside records laid end to end: softmax(q kᵀ / sqrt(width)) v; query head i
// reads key head.
func Attention(tape Tape, q, k, v Tensor, starts *int32, startsCount uint64, causal int32, out *Tensor, failure *Error) Status {
	return Status(C.hxp_attention(C.hxp_tape(tape), C.hxp_tensor(q), C.hxp_tensor(k), C.hxp_tensor(v), (*C.int32_t)(unsafe.Pointer(starts)), C.uint64_t(startsCount), C.int32_t(causal), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Swiglu is hxp_swiglu. silu(gate) · up, element by element; both of one shape.
func Swiglu(tape Tape, gate, up Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_swiglu(C.hxp_tape(tape), C.hxp_tensor(gate), C.hxp_tensor(up), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Add is hxp_add. a + b, both of one shape.
func Add(tape Tape, a, b Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_add(C.hxp_tape(tape), C.hxp_tensor(a), C.hxp_tensor(b), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Scale is hxp_scale. x · factor.
func Scale(tape Tape, x Tensor, factor float64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_scale(C.hxp_tape(tape), C.hxp_tensor(x), C.double(factor), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// LinearCrossEntropy is hxp_linear_cross_entropy. Cross-entropy of a linear head at chosen rows; the logits are never held whole.
func LinearCrossEntropy(tape Tape, h, w Tensor, rows, targets *int32, count uint64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_linear_cross_entropy(C.hxp_tape(tape), C.hxp_tensor(h), C.hxp_tensor(w), (*C.int32_t)(unsafe.Pointer(rows)), (*C.int32_t)(unsafe.Pointer(targets)), C.uint64_t(count), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Matmul is hxp_matmul. a b: a (m, k), b (k, n), any strides; result (m, n).
func Matmul(tape Tape, a, b Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_matmul(C.hxp_tape(tape), C.hxp_tensor(a), C.hxp_tensor(b), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Softmax is hxp_softmax. Softmax over the last axis.
func Softmax(tape Tape, x Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_softmax(C.hxp_tape(tape), C.hxp_tensor(x), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ReduceSum is hxp_reduce_sum. Sum over one axis, which is removed (of a one-axis tensor: result (1)).
func ReduceSum(tape Tape, x Tensor, axis uint32, out *Tensor, failure *Error) Status {
	return Status(C.hxp_reduce_sum(C.hxp_tape(tape), C.hxp_tensor(x), C.uint32_t(axis), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Transpose is hxp_transpose. A view of x with its last two axes swapped; shares x's storage.
func Transpose(tape Tape, x Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_transpose(C.hxp_tape(tape), C.hxp_tensor(x), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// Reshape is hxp_reshape. x in another shape of as many elements: a view that shares x's storage.
func Reshape(tape Tape, x Tensor, rank uint32, shape *int64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_reshape(C.hxp_tape(tape), C.hxp_tensor(x), C.uint32_t(rank), (*C.int64_t)(unsafe.Pointer(shape)), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// AsStrided is hxp_as_strided. A strided view into x's elements; shares x's storage.
func AsStrided(tape Tape, x Tensor, rank uint32, shape, strides *int64, offset int64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_as_strided(C.hxp_tape(tape), C.hxp_tensor(x), C.uint32_t(rank), (*C.int64_t)(unsafe.Pointer(shape)), (*C.int64_t)(unsafe.Pointer(strides)), C.int64_t(offset), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}
