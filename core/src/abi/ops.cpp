// hexapla/ops.h: each shim finds its tensors and its tape, and calls the operation of that name.
#include "hexapla/ops.h"

#include "abi/shim.hpp"
#include "autograd/operations.hpp"

using namespace hexapla;

namespace {

/// A recorded call that makes one tensor: make(CallScope&, const Share<Tensor>& first, Tape*) returns it.
template <class Make>
hxp_status operation(std::uint16_t number, hxp_tape tape, hxp_tensor first, hxp_tensor* out, hxp_error* error, Make&& make) noexcept {
  return compute<Tensor>(error, number, first, [&](CallScope& call, const Share<Tensor>& tensor) {
    require(out != nullptr, "out must be given");
    const Share<Tape> on = tape == 0 ? Share<Tape>() : call.argument<Tape>(tape, "tape");
    *out = call.publish(make(call, tensor, on.get()));
  });
}

/// A host array that must be given unless it is empty.
ops::Ids ids_of(const std::int32_t* ids, std::uint64_t count, const char* name) {
  require(ids != nullptr || count == 0, name, " must be given");
  require(count <= INT32_MAX, name, " has ", count, " entries, more than 2147483647");
  return {ids, static_cast<std::size_t>(count)};
}

}  // namespace

hxp_status hxp_embedding(hxp_tape tape, hxp_tensor table, const int32_t* ids, uint64_t count, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_EMBEDDING, tape, table, out, error, [&](CallScope&, const Share<Tensor>& rows, Tape* on) {
    return ops::embedding(on, rows, ids_of(ids, count, "ids"));
  });
}

hxp_status hxp_rms_norm(hxp_tape tape, hxp_tensor x, hxp_tensor gain, double epsilon, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_RMS_NORM, tape, x, out, error, [&](CallScope& call, const Share<Tensor>& values, Tape* on) {
    return ops::rms_norm(on, values, call.argument<Tensor>(gain, "gain"), epsilon);
  });
}

hxp_status hxp_linear(hxp_tape tape, hxp_tensor x, hxp_tensor w, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_LINEAR, tape, x, out, error, [&](CallScope& call, const Share<Tensor>& values, Tape* on) {
    return ops::linear(on, values, call.argument<Tensor>(w, "w"));
  });
}

hxp_status hxp_lora_linear(hxp_tape tape, hxp_tensor x, hxp_tensor w, hxp_tensor a, hxp_tensor b, double scale, hxp_tensor* out,
                           hxp_error* error) {
  return operation(HXP_OPERATION_LORA_LINEAR, tape, x, out, error, [&](CallScope& call, const Share<Tensor>& values, Tape* on) {
    return ops::lora_linear(on, values, call.argument<Tensor>(w, "w"), call.argument<Tensor>(a, "a"), call.argument<Tensor>(b, "b"),
                            scale);
  });
}

hxp_status hxp_rope(hxp_tape tape, hxp_tensor x, const int32_t* positions, uint64_t count, double theta, hxp_tensor* out,
                    hxp_error* error) {
  return operation(HXP_OPERATION_ROPE, tape, x, out, error, [&](CallScope&, const Share<Tensor>& values, Tape* on) {
    return ops::rope(on, values, ids_of(positions, count, "positions"), theta);
  });
}

hxp_status hxp_attention(hxp_tape tape, hxp_tensor q, hxp_tensor k, hxp_tensor v, const int32_t* starts, uint64_t starts_count,
                         int32_t causal, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_ATTENTION, tape, q, out, error, [&](CallScope& call, const Share<Tensor>& queries, Tape* on) {
    return ops::attention(on, queries, call.argument<Tensor>(k, "k"), call.argument<Tensor>(v, "v"),
                          ids_of(starts, starts_count, "starts"), causal != 0);
  });
}

hxp_status hxp_swiglu(hxp_tape tape, hxp_tensor gate, hxp_tensor up, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_SWIGLU, tape, gate, out, error, [&](CallScope& call, const Share<Tensor>& values, Tape* on) {
    return ops::swiglu(on, values, call.argument<Tensor>(up, "up"));
  });
}

hxp_status hxp_add(hxp_tape tape, hxp_tensor a, hxp_tensor b, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_ADD, tape, a, out, error, [&](CallScope& call, const Share<Tensor>& values, Tape* on) {
    return ops::add(on, values, call.argument<Tensor>(b, "b"));
  });
}

hxp_status hxp_scale(hxp_tape tape, hxp_tensor x, double factor, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_SCALE, tape, x, out, error,
                   [&](CallScope&, const Share<Tensor>& values, Tape* on) { return ops::scale(on, values, factor); });
}

hxp_status hxp_linear_cross_entropy(hxp_tape tape, hxp_tensor h, hxp_tensor w, const int32_t* rows, const int32_t* targets,
                                    uint64_t count, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_LINEAR_CROSS_ENTROPY, tape, h, out, error,
                   [&](CallScope& call, const Share<Tensor>& values, Tape* on) {
                     return ops::linear_cross_entropy(on, values, call.argument<Tensor>(w, "w"), ids_of(rows, count, "rows"),
                                                      ids_of(targets, count, "targets"));
                   });
}

hxp_status hxp_matmul(hxp_tape tape, hxp_tensor a, hxp_tensor b, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_MATMUL, tape, a, out, error, [&](CallScope& call, const Share<Tensor>& values, Tape* on) {
    return ops::matmul(on, values, call.argument<Tensor>(b, "b"));
  });
}

hxp_status hxp_softmax(hxp_tape tape, hxp_tensor x, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_SOFTMAX, tape, x, out, error,
                   [&](CallScope&, const Share<Tensor>& values, Tape* on) { return ops::softmax(on, values); });
}

hxp_status hxp_reduce_sum(hxp_tape tape, hxp_tensor x, uint32_t axis, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_REDUCE_SUM, tape, x, out, error,
                   [&](CallScope&, const Share<Tensor>& values, Tape* on) { return ops::reduce_sum(on, values, axis); });
}

hxp_status hxp_transpose(hxp_tape tape, hxp_tensor x, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_TRANSPOSE, tape, x, out, error,
                   [&](CallScope&, const Share<Tensor>& values, Tape* on) { return ops::transpose(on, values); });
}

hxp_status hxp_reshape(hxp_tape tape, hxp_tensor x, uint32_t rank, const int64_t* shape, hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_RESHAPE, tape, x, out, error, [&](CallScope&, const Share<Tensor>& values, Tape* on) {
    return ops::reshape(on, values, checked_shape(rank, shape));
  });
}

hxp_status hxp_as_strided(hxp_tape tape, hxp_tensor x, uint32_t rank, const int64_t* shape, const int64_t* strides, int64_t offset,
                          hxp_tensor* out, hxp_error* error) {
  return operation(HXP_OPERATION_AS_STRIDED, tape, x, out, error, [&](CallScope&, const Share<Tensor>& values, Tape* on) {
    const Shape sizes = checked_shape(rank, shape);
    require(strides != nullptr, "strides must be given");
    return ops::as_strided(on, values, sizes, Shape(std::span(strides, rank)), offset);
  });
}
