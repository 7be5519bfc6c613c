// hexapla/optimizer.h.
#include "hexapla/optimizer.h"

#include "abi/shim.hpp"
#include "autograd/optimizer.hpp"

using namespace hexapla;

namespace {

optimizer::Tensors list_of(CallScope& call, const hxp_tensor* ids, std::uint64_t count, const char* name) {
  require(ids != nullptr, name, " must be given");
  optimizer::Tensors tensors;
  tensors.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) tensors.push_back(call.argument<Tensor>(ids[i], name));
  return tensors;
}

/// A recorded call on the context of the first of a list.
template <class Body>
hxp_status on_list(std::uint16_t number, const hxp_tensor* ids, std::uint64_t count, const char* name, hxp_error* error, Body&& body) noexcept {
  if (ids == nullptr || count == 0)
    return guard(error, [&] { require(false, name, " must hold at least one tensor"); });
  return compute<Tensor>(error, number, ids[0], [&](CallScope& call, const Share<Tensor>&) { body(call, list_of(call, ids, count, name)); });
}

}  // namespace

void hxp_adamw_options_init(hxp_adamw_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->struct_size = sizeof *options;
}

hxp_status hxp_gradient_norm(const hxp_tensor* gradients, uint64_t count, double* out, hxp_error* error) {
  return on_list(HXP_OPERATION_GRADIENT_NORM, gradients, count, "gradients", error, [&](CallScope& call, const optimizer::Tensors& list) {
    require(out != nullptr, "out must be given");
    *out = optimizer::gradient_norm(call.context(), list);
  });
}

hxp_status hxp_gradient_clip(const hxp_tensor* gradients, uint64_t count, double norm, double clip_norm, int32_t* clipped_out,
                             hxp_error* error) {
  return on_list(HXP_OPERATION_GRADIENT_CLIP, gradients, count, "gradients", error, [&](CallScope& call, const optimizer::Tensors& list) {
    const bool clipped = optimizer::clip(call.context(), list, norm, clip_norm);
    if (clipped_out != nullptr) *clipped_out = clipped;
  });
}

hxp_status hxp_adamw_step(const hxp_adamw_options* options, const hxp_tensor* parameters, const hxp_tensor* gradients,
                          const hxp_tensor* exp_avgs, const hxp_tensor* exp_avg_sqs, uint64_t count, hxp_error* error) {
  return on_list(HXP_OPERATION_ADAMW_STEP, parameters, count, "parameters", error, [&](CallScope& call, const optimizer::Tensors& list) {
    require_struct(options, "options");
    optimizer::adamw_step(call.context(), *options, list, list_of(call, gradients, count, "gradients"),
                          list_of(call, exp_avgs, count, "exp_avgs"), list_of(call, exp_avg_sqs, count, "exp_avg_sqs"));
  });
}
