// Whole-tensor work that needs no operation of the table: copies between host and (strided) tensors, fill, add, digest. Separate from the
// tensor, which only describes, and from the backends: on a device whose memory the host cannot reach it works on a staged copy of the
// span that the view reaches. All of it runs inside a call; what computes runs on worker 0.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/call.hpp"
#include "runtime/tensor.hpp"

namespace hexapla {

/// Row-major copy of the tensor's elements to host memory: tensor.bytes() bytes.
void read(const Tensor& tensor, void* out);
/// The other way. The tensor must not repeat elements.
void write(const Tensor& tensor, const void* data);
/// Set, or add f32(value) in f32 to, every element. The tensor must not repeat elements when adding.
void fill(CallScope& call, const Tensor& tensor, float value);
void add_in_place(CallScope& call, const Tensor& tensor, float value);
/// SHA-256 of the f32 values of the tensors, one after the other.
std::string digest(std::span<const Share<Tensor>> tensors);

}  // namespace hexapla
