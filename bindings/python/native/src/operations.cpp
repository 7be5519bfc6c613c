// Operations, tapes and what follows backward: each finds its tensors and its tape in the call, and calls core's function of that name.
#include "autograd/operations.hpp"

#include "autograd/optimizer.hpp"
#include "call.hpp"

namespace hexapla::native {

namespace {

using TapeOwner = Owned<Tape>;
using Sizes = std::vector<std::int64_t>;
/// None, or a tape to record on.
using MaybeTape = const TapeOwner*;

/// A recorded call that makes one tensor: make(CallScope&, const Share<Tensor>& first, Tape*).
template <class Make>
TensorOwner operation(std::uint16_t number, MaybeTape tape, const TensorOwner& first, Make&& make) {
  return make_on<Tensor>(first, number, [&](CallScope& call, const Share<Tensor>& tensor) {
    const Share<Tape> on = tape ? call.argument<Tape>(tape->id(), "tape") : Share<Tape>();
    return make(call, tensor, on.get());
  });
}

/// ids.data() looks at a NumPy object: once, while the lock is held.
ops::Ids span_of(const IdArray& ids) { return {ids.data(), static_cast<std::size_t>(ids.size())}; }

Shape shape_from(const Sizes& sizes) { return checked_shape(static_cast<std::uint32_t>(sizes.size()), sizes.data()); }

TensorOwner embedding(MaybeTape tape, const TensorOwner& table, const IdArray& ids) {
  return operation(HXP_OPERATION_EMBEDDING, tape, table,
                   [ids = span_of(ids)](CallScope&, const Share<Tensor>& t, Tape* on) { return ops::embedding(on, t, ids); });
}

TensorOwner rms_norm(MaybeTape tape, const TensorOwner& x, const TensorOwner& gain, double epsilon) {
  return operation(HXP_OPERATION_RMS_NORM, tape, x, [&](CallScope& call, const Share<Tensor>& t, Tape* on) {
    return ops::rms_norm(on, t, call.argument<Tensor>(gain.id(), "gain"), epsilon);
  });
}

TensorOwner linear(MaybeTape tape, const TensorOwner& x, const TensorOwner& w) {
  return operation(HXP_OPERATION_LINEAR, tape, x, [&](CallScope& call, const Share<Tensor>& t, Tape* on) {
    return ops::linear(on, t, call.argument<Tensor>(w.id(), "w"));
  });
}

TensorOwner lora_linear(MaybeTape tape, const TensorOwner& x, const TensorOwner& w, const TensorOwner& a, const TensorOwner& b,
                        double scale) {
  return operation(HXP_OPERATION_LORA_LINEAR, tape, x, [&](CallScope& call, const Share<Tensor>& t, Tape* on) {
    return ops::lora_linear(on, t, call.argument<Tensor>(w.id(), "w"), call.argument<Tensor>(a.id(), "a"),
                            call.argument<Tensor>(b.id(), "b"), scale);
  });
}

TensorOwner rope(MaybeTape tape, const TensorOwner& x, const IdArray& positions, double theta) {
  return operation(HXP_OPERATION_ROPE, tape, x, [&, ids = span_of(positions)](CallScope&, const Share<Tensor>& t, Tape* on) {
    return ops::rope(on, t, ids, theta);
  });
}

TensorOwner attention(MaybeTape tape, const TensorOwner& q, const TensorOwner& k, const TensorOwner& v, const IdArray& starts,
                      bool causal) {
  return operation(HXP_OPERATION_ATTENTION, tape, q, [&, ids = span_of(starts)](CallScope& call, const Share<Tensor>& t, Tape* on) {
    return ops::attention(on, t, call.argument<Tensor>(k.id(), "k"), call.argument<Tensor>(v.id(), "v"), ids, causal);
  });
}

TensorOwner swiglu(MaybeTape tape, const TensorOwner& gate, const TensorOwner& up) {
  return operation(HXP_OPERATION_SWIGLU, tape, gate, [&](CallScope& call, const Share<Tensor>& t, Tape* on) {
    return ops::swiglu(on, t, call.argument<Tensor>(up.id(), "up"));
  });
}

TensorOwner add(MaybeTape tape, const TensorOwner& a, const TensorOwner& b) {
  return operation(HXP_OPERATION_ADD, tape, a, [&](CallScope& call, const Share<Tensor>& t, Tape* on) {
    return ops::add(on, t, call.argument<Tensor>(b.id(), "b"));
  });
}

TensorOwner scale(MaybeTape tape, const TensorOwner& x, double factor) {
  return operation(HXP_OPERATION_SCALE, tape, x,
                   [&](CallScope&, const Share<Tensor>& t, Tape* on) { return ops::scale(on, t, factor); });
}

TensorOwner linear_cross_entropy(MaybeTape tape, const TensorOwner& h, const TensorOwner& w, const IdArray& rows,
                                 const IdArray& targets) {
  if (rows.size() != targets.size()) throw py::value_error("rows and targets must be as many");
  return operation(HXP_OPERATION_LINEAR_CROSS_ENTROPY, tape, h,
                   [&, at = span_of(rows), ids = span_of(targets)](CallScope& call, const Share<Tensor>& t, Tape* on) {
                     return ops::linear_cross_entropy(on, t, call.argument<Tensor>(w.id(), "w"), at, ids);
                   });
}

TensorOwner matmul(MaybeTape tape, const TensorOwner& a, const TensorOwner& b) {
  return operation(HXP_OPERATION_MATMUL, tape, a, [&](CallScope& call, const Share<Tensor>& t, Tape* on) {
    return ops::matmul(on, t, call.argument<Tensor>(b.id(), "b"));
  });
}

TensorOwner softmax(MaybeTape tape, const TensorOwner& x) {
  return operation(HXP_OPERATION_SOFTMAX, tape, x, [](CallScope&, const Share<Tensor>& t, Tape* on) { return ops::softmax(on, t); });
}

TensorOwner reduce_sum(MaybeTape tape, const TensorOwner& x, std::uint32_t axis) {
  return operation(HXP_OPERATION_REDUCE_SUM, tape, x,
                   [&](CallScope&, const Share<Tensor>& t, Tape* on) { return ops::reduce_sum(on, t, axis); });
}

TensorOwner transpose(MaybeTape tape, const TensorOwner& x) {
  return operation(HXP_OPERATION_TRANSPOSE, tape, x, [](CallScope&, const Share<Tensor>& t, Tape* on) { return ops::transpose(on, t); });
}

TensorOwner reshape(MaybeTape tape, const TensorOwner& x, const Sizes& shape) {
  return operation(HXP_OPERATION_RESHAPE, tape, x,
                   [&](CallScope&, const Share<Tensor>& t, Tape* on) { return ops::reshape(on, t, shape_from(shape)); });
}

TensorOwner as_strided(MaybeTape tape, const TensorOwner& x, const Sizes& shape, const Sizes& strides, std::int64_t offset) {
  return operation(HXP_OPERATION_AS_STRIDED, tape, x, [&](CallScope&, const Share<Tensor>& t, Tape* on) {
    const Shape sizes = shape_from(shape);
    require(strides.size() == shape.size(), "strides has ", strides.size(), " numbers, shape ", shape.size());
    return ops::as_strided(on, t, sizes, Shape(std::span(strides)), offset);
  });
}

// ---- tapes

void watch(const TapeOwner& self, const TensorOwner& tensor, const TensorOwner* gradient) {
  compute_on(self, HXP_OPERATION_TAPE_WATCH, [&](CallScope& call, const Share<Tape>& tape) {
    tape->watch(call.argument<Tensor>(tensor.id(), "tensor"),
                gradient ? call.argument<Tensor>(gradient->id(), "gradient") : Share<Tensor>());
  });
}

void backward(const TapeOwner& self, const TensorOwner& output, const TensorOwner* incoming) {
  compute_on(self, HXP_OPERATION_TAPE_BACKWARD, [&](CallScope& call, const Share<Tape>& tape) {
    const Share<Tensor> from = call.argument<Tensor>(output.id(), "output");
    const Share<Tensor> gradient = incoming ? call.argument<Tensor>(incoming->id(), "incoming") : Share<Tensor>();
    tape->backward(*from, gradient.get());
  });
}

TapeOwner make_tape(const ContextOwner& context) {
  return make_on<Tape>(context, HXP_OPERATION_TAPE_CREATE, [](CallScope&, const Share<Context>& home) { return make<Tape>(home); });
}

// ---- after backward

optimizer::Tensors list_of(CallScope& call, const TensorList& tensors, const char* name) {
  optimizer::Tensors shares;
  shares.reserve(tensors.size());
  for (const TensorOwner* tensor : tensors) shares.push_back(call.argument<Tensor>(tensor->id(), name));
  return shares;
}

/// A recorded call on the context of the first of a list.
template <class Body>
void on_list(std::uint16_t number, const TensorList& tensors, const char* name, Body&& body) {
  if (tensors.empty()) throw py::value_error(std::string(name) + " must hold at least one tensor");
  compute_on(*tensors[0], number, [&](CallScope& call, const Share<Tensor>&) { body(call, list_of(call, tensors, name)); });
}

double gradient_norm(const TensorList& gradients) {
  double norm = 0;
  on_list(HXP_OPERATION_GRADIENT_NORM, gradients, "gradients",
          [&](CallScope& call, const optimizer::Tensors& list) { norm = optimizer::gradient_norm(call.context(), list); });
  return norm;
}

bool gradient_clip(const TensorList& gradients, double norm, double clip_norm) {
  bool clipped = false;
  on_list(HXP_OPERATION_GRADIENT_CLIP, gradients, "gradients",
          [&](CallScope& call, const optimizer::Tensors& list) { clipped = optimizer::clip(call.context(), list, norm, clip_norm); });
  return clipped;
}

void adamw_step(const TensorList& parameters, const TensorList& gradients, const TensorList& exp_avgs, const TensorList& exp_avg_sqs,
                std::uint64_t step, double learning_rate, double beta1, double beta2, double epsilon, double weight_decay) {
  if (gradients.size() != parameters.size() || exp_avgs.size() != parameters.size() || exp_avg_sqs.size() != parameters.size())
    throw py::value_error("the four lists must be as long as each other");
  hxp_adamw_options options{};
  options.struct_size = sizeof options;
  options.step = step;
  options.learning_rate = learning_rate;
  options.beta1 = beta1;
  options.beta2 = beta2;
  options.epsilon = epsilon;
  options.weight_decay = weight_decay;
  on_list(HXP_OPERATION_ADAMW_STEP, parameters, "parameters", [&](CallScope& call, const optimizer::Tensors& list) {
    optimizer::adamw_step(call.context(), options, list, list_of(call, gradients, "gradients"), list_of(call, exp_avgs, "exp_avgs"),
                          list_of(call, exp_avg_sqs, "exp_avg_sqs"));
  });
}

void define_tape(py::module_& module) {
  using namespace py::literals;
  owned_class<Tape>(module, "Tape", "An explicit record of operations, and the way back through it.")
      .def(py::init(&make_tape), "context"_a)
      .def("watch", &watch, "tensor"_a, "gradient"_a = py::none(),
           "Ask for a gradient; backward adds into `gradient`, or into zeros that the tape makes.")
      .def("gradient",
           [](const TapeOwner& self, const TensorOwner& tensor) {
             return make_on<Tensor>(self, HXP_OPERATION_TAPE_GRADIENT, [&](CallScope& call, const Share<Tape>& tape) {
               return tape->gradient(*call.argument<Tensor>(tensor.id(), "tensor"));
             });
           },
           "tensor"_a)
      .def("backward", &backward, "output"_a, "incoming"_a = py::none())
      .def("reset", [](const TapeOwner& self) {
        compute_on(self, HXP_OPERATION_TAPE_RESET, [](CallScope&, const Share<Tape>& tape) { tape->reset(); });
      });
}

}  // namespace

void define_operations(py::module_& module) {
  using namespace py::literals;
  const auto ids = [](const char* name) { return py::arg(name).noconvert(); };
  define_tape(module);
  module.def("embedding", &embedding, "tape"_a, "table"_a, ids("ids"));
  module.def("rms_norm", &rms_norm, "tape"_a, "x"_a, "gain"_a, "epsilon"_a);
  module.def("linear", &linear, "tape"_a, "x"_a, "w"_a);
  module.def("lora_linear", &lora_linear, "tape"_a, "x"_a, "w"_a, "a"_a, "b"_a, "scale"_a);
  module.def("rope", &rope, "tape"_a, "x"_a, ids("positions"), "theta"_a);
  module.def("attention", &attention, "tape"_a, "q"_a, "k"_a, "v"_a, ids("starts"), "causal"_a = true);
  module.def("swiglu", &swiglu, "tape"_a, "gate"_a, "up"_a);
  module.def("add", &add, "tape"_a, "a"_a, "b"_a);
  module.def("scale", &scale, "tape"_a, "x"_a, "factor"_a);
  module.def("linear_cross_entropy", &linear_cross_entropy, "tape"_a, "h"_a, "w"_a, ids("rows"), ids("targets"));
  module.def("matmul", &matmul, "tape"_a, "a"_a, "b"_a);
  module.def("softmax", &softmax, "tape"_a, "x"_a);
  module.def("reduce_sum", &reduce_sum, "tape"_a, "x"_a, "axis"_a);
  module.def("transpose", &transpose, "tape"_a, "x"_a);
  module.def("reshape", &reshape, "tape"_a, "x"_a, "shape"_a);
  module.def("as_strided", &as_strided, "tape"_a, "x"_a, "shape"_a, "strides"_a, "offset"_a = 0);
  module.def("gradient_norm", &gradient_norm, "gradients"_a);
  module.def("gradient_clip", &gradient_clip, "gradients"_a, "norm"_a, "clip_norm"_a);
  module.def("adamw_step", &adamw_step, "parameters"_a, "gradients"_a, "exp_avgs"_a, "exp_avg_sqs"_a, py::kw_only(), "step"_a,
             "learning_rate"_a, "beta1"_a, "beta2"_a, "epsilon"_a, "weight_decay"_a);
}

}  // namespace hexapla::native
