// hexapla/tape.h.
#include "hexapla/tape.h"

#include "abi/shim.hpp"
#include "autograd/tape.hpp"

using namespace hexapla;

hxp_status hxp_tape_create(hxp_context context, hxp_tape* out, hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_TAPE_CREATE, context, [&](CallScope& call, const Share<Context>& home) {
    require(out != nullptr, "out must be given");
    *out = call.publish(make<Tape>(home));
  });
}

hxp_status hxp_tape_retain(hxp_tape tape, hxp_tape* out, hxp_error* error) {
  return retain<Tape>(error, HXP_OPERATION_TAPE_RETAIN, tape, out);
}

hxp_status hxp_tape_release(hxp_tape tape, hxp_error* error) { return release<Tape>(error, HXP_OPERATION_TAPE_RELEASE, tape); }

hxp_status hxp_tape_watch(hxp_tape tape, hxp_tensor tensor, hxp_tensor gradient, hxp_error* error) {
  return compute<Tape>(error, HXP_OPERATION_TAPE_WATCH, tape, [&](CallScope& call, const Share<Tape>& on) {
    Share<Tensor> watched = call.argument<Tensor>(tensor, "tensor");
    Share<Tensor> into = gradient == 0 ? Share<Tensor>() : call.argument<Tensor>(gradient, "gradient");
    on->watch(std::move(watched), std::move(into));
  });
}

hxp_status hxp_tape_gradient(hxp_tape tape, hxp_tensor tensor, hxp_tensor* out, hxp_error* error) {
  return compute<Tape>(error, HXP_OPERATION_TAPE_GRADIENT, tape, [&](CallScope& call, const Share<Tape>& on) {
    require(out != nullptr, "out must be given");
    *out = call.publish(on->gradient(*call.argument<Tensor>(tensor, "tensor")));
  });
}

hxp_status hxp_tape_backward(hxp_tape tape, hxp_tensor output, hxp_tensor incoming, hxp_error* error) {
  return compute<Tape>(error, HXP_OPERATION_TAPE_BACKWARD, tape, [&](CallScope& call, const Share<Tape>& on) {
    const Share<Tensor> from = call.argument<Tensor>(output, "output");
    const Share<Tensor> gradient = incoming == 0 ? Share<Tensor>() : call.argument<Tensor>(incoming, "incoming");
    on->backward(*from, gradient.get());
  });
}

hxp_status hxp_tape_reset(hxp_tape tape, hxp_error* error) {
  return compute<Tape>(error, HXP_OPERATION_TAPE_RESET, tape, [&](CallScope&, const Share<Tape>& on) { on->reset(); });
}
