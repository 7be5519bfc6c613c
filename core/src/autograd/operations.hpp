// The operations as C++ functions: what the C shims and the native module call, inside a call on the tensors' context. Each checks its
// arguments (HXP_INVALID_ARGUMENT), computes in one hand-over, and records itself on `tape` (may be null) if an input needs a gradient
// there. Formulas and shapes: hexapla/ops.h.
#pragma once

#include <cstdint>
#include <span>

#include "autograd/tape.hpp"
#include "runtime/tensor.hpp"

namespace hexapla::ops {

using Ids = std::span<const std::int32_t>;

Share<Tensor> embedding(Tape* tape, const Share<Tensor>& table, Ids ids);
Share<Tensor> rms_norm(Tape* tape, const Share<Tensor>& x, const Share<Tensor>& gain, double epsilon);
Share<Tensor> linear(Tape* tape, const Share<Tensor>& x, const Share<Tensor>& w);
Share<Tensor> lora_linear(Tape* tape, const Share<Tensor>& x, const Share<Tensor>& w, const Share<Tensor>& a, const Share<Tensor>& b,
                          double scale);
Share<Tensor> rope(Tape* tape, const Share<Tensor>& x, Ids positions, double theta);
Share<Tensor> attention(Tape* tape, const Share<Tensor>& q, const Share<Tensor>& k, const Share<Tensor>& v, Ids starts, bool causal);
Share<Tensor> swiglu(Tape* tape, const Share<Tensor>& gate, const Share<Tensor>& up);
Share<Tensor> add(Tape* tape, const Share<Tensor>& a, const Share<Tensor>& b);
Share<Tensor> scale(Tape* tape, const Share<Tensor>& x, double factor);
Share<Tensor> linear_cross_entropy(Tape* tape, const Share<Tensor>& h, const Share<Tensor>& w, Ids rows, Ids targets);
Share<Tensor> matmul(Tape* tape, const Share<Tensor>& a, const Share<Tensor>& b);
Share<Tensor> softmax(Tape* tape, const Share<Tensor>& x);
Share<Tensor> reduce_sum(Tape* tape, const Share<Tensor>& x, std::uint32_t axis);
Share<Tensor> transpose(Tape* tape, const Share<Tensor>& x);
Share<Tensor> reshape(Tape* tape, const Share<Tensor>& x, const Shape& shape);
Share<Tensor> as_strided(Tape* tape, const Share<Tensor>& x, const Shape& shape, const Shape& strides, std::int64_t offset);

}  // namespace hexapla::ops
