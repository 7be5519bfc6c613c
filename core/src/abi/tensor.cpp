// Tensors across the ABI.
#include "hexapla/tensor.h"

#include <vector>

#include "abi/shim.hpp"
#include "runtime/faults.hpp"
#include "runtime/transfer.hpp"

using namespace hexapla;

namespace {

template <class Body>
hxp_status query(hxp_error* error, hxp_tensor tensor, Body&& body) noexcept {
  return guard(error, [&] {
    const Share<Tensor> subject = share<Tensor>(tensor);
    subject->context().admit(thread_id());
    body(*subject);
  });
}

void describe(const Tensor& tensor, hxp_tensor_info& out) {
  hxp_tensor_info_init(&out);
  out.dtype = tensor.dtype();
  out.rank = tensor.rank();
  out.contiguous = tensor.contiguous();
  std::copy(tensor.shape().begin(), tensor.shape().end(), out.shape);
  std::copy(tensor.strides().begin(), tensor.strides().end(), out.strides);
  out.offset = tensor.offset();
  out.elements = static_cast<std::uint64_t>(tensor.elements());
  out.bytes = tensor.bytes();
}

}  // namespace

extern "C" {

void hxp_tensor_info_init(hxp_tensor_info* info) {
  *info = {};
  info->struct_size = sizeof *info;
}

hxp_status hxp_tensor_create(hxp_context context, int32_t dtype, uint32_t rank, const int64_t* shape, hxp_tensor* out,
                             hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_TENSOR_CREATE, context, [&](CallScope& call, const Share<Context>&) {
    require(out != nullptr, "out must be given");
    require_dtype(dtype);
    *out = call.publish(call.tensor(checked_shape(rank, shape), Contents::zeros));
  });
}

hxp_status hxp_tensor_retain(hxp_tensor tensor, hxp_tensor* out, hxp_error* error) {
  return retain<Tensor>(error, HXP_OPERATION_TENSOR_RETAIN, tensor, out);
}

hxp_status hxp_tensor_release(hxp_tensor tensor, hxp_error* error) {
  return release<Tensor>(error, HXP_OPERATION_TENSOR_RELEASE, tensor);
}

hxp_status hxp_tensor_describe(hxp_tensor tensor, hxp_tensor_info* out, hxp_error* error) {
  return query(error, tensor, [&](const Tensor& subject) {
    require_struct(out, "out");
    describe(subject, *out);
  });
}

hxp_status hxp_tensor_context(hxp_tensor tensor, hxp_context* out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Tensor> subject = share<Tensor>(tensor);
    CallScope call(subject->context(), HXP_OPERATION_TENSOR_CONTEXT, tensor, Waits::no);
    call.perform([&] {
      require(out != nullptr, "out must be given");
      *out = call.publish(Share<Context>::of(&subject->context()));
    });
  });
}

hxp_status hxp_tensor_device(hxp_tensor tensor, char* out, uint64_t out_bytes, hxp_error* error) {
  return query(error, tensor, [&](const Tensor& subject) {
    if (faulty(Fault::thread_local_device)) return write_text(device_of_thread(), out, out_bytes);
    write_text(subject.storage()->spilled() ? "host" : subject.context().device_name(), out, out_bytes);
  });
}

hxp_status hxp_tensor_write(hxp_tensor tensor, const void* data, uint64_t data_bytes, hxp_error* error) {
  return compute<Tensor>(error, HXP_OPERATION_TENSOR_WRITE, tensor, [&](CallScope&, const Share<Tensor>& subject) {
    require(data_bytes == subject->bytes(), "data holds ", data_bytes, " bytes, the tensor ", subject->bytes());
    require(data != nullptr || data_bytes == 0, "data must be given");
    require(!subject->repeats(), "a view that repeats elements cannot be written");
    write(*subject, data);
  });
}

hxp_status hxp_tensor_read(hxp_tensor tensor, void* out, uint64_t out_bytes, hxp_error* error) {
  return compute<Tensor>(error, HXP_OPERATION_TENSOR_READ, tensor, [&](CallScope&, const Share<Tensor>& subject) {
    require(out_bytes >= subject->bytes(), "out holds ", out_bytes, " bytes, the tensor ", subject->bytes());
    require(out != nullptr || subject->bytes() == 0, "out must be given");
    read(*subject, out);
  });
}

hxp_status hxp_tensor_fill(hxp_tensor tensor, double value, hxp_error* error) {
  return compute<Tensor>(error, HXP_OPERATION_TENSOR_FILL, tensor, [&](CallScope& call, const Share<Tensor>& subject) {
    fill(call, *subject, static_cast<float>(value));
  });
}

hxp_status hxp_tensor_add_in_place(hxp_tensor tensor, double value, hxp_error* error) {
  return compute<Tensor>(error, HXP_OPERATION_TENSOR_ADD_IN_PLACE, tensor, [&](CallScope& call, const Share<Tensor>& subject) {
    require(!subject->repeats(), "a view that repeats elements cannot be added to");
    add_in_place(call, *subject, static_cast<float>(value));
  });
}

hxp_status hxp_tensor_digest(const hxp_tensor* tensors, uint64_t count, char* out, uint64_t out_bytes, hxp_error* error) {
  if (!tensors || count == 0) return guard(error, [] { require(false, "tensors must name at least one tensor"); });
  return compute<Tensor>(error, HXP_OPERATION_TENSOR_DIGEST, tensors[0], [&](CallScope& call, const Share<Tensor>&) {
    require(out != nullptr && out_bytes >= 65, "out holds ", out_bytes, " bytes, the digest needs 65");
    std::vector<Share<Tensor>> shares;
    for (std::uint64_t i = 0; i < count; ++i) shares.push_back(call.argument<Tensor>(tensors[i], "tensor"));
    write_text(digest(shares), out, out_bytes);
  });
}

}  // extern "C"
