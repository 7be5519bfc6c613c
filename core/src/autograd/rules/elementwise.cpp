// swiglu, add, scale: one output element for one of each input.
#include "autograd/forward.hpp"
#include "autograd/operations.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

struct SwigluRecord final : Record {  // keeps gate, up
  std::int64_t count;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.swiglu_backward.run(queue, {at.incoming, at.kept[0], at.kept[1], count, at.inputs[0], at.inputs[1]});
  }
};

struct AddRecord final : Record {
  bool passes_on(std::size_t) const override { return true; }
  void run(const backends::Table&, backends::Queue&, const Backward&) const override {}
};

struct ScaleRecord final : Record {
  double factor;
  std::int64_t count;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.scale.run(queue, {at.incoming, factor, count, at.inputs[0]});
  }
};

}  // namespace

Share<Tensor> swiglu(Tape* tape, const Share<Tensor>& gate, const Share<Tensor>& up) {
  require(gate->shape() == up->shape(), "gate has shape ", gate->shape().text(), ", up ", up->shape().text());
  Forward forward(gate->context());
  const float *gate_data = forward.dense(gate), *up_data = forward.dense(up);
  Share<Tensor> out = forward.output(gate->shape());
  forward.run(forward.table().swiglu, {gate_data, up_data, gate->elements(), out->data()});
  if (wanted(tape, {gate.get(), up.get()})) {
    auto record = std::make_unique<SwigluRecord>();
    record->kept = {gate, up};
    record->count = gate->elements();
    tape->append(std::move(record), *out, {gate.get(), up.get()});
  }
  return out;
}

Share<Tensor> add(Tape* tape, const Share<Tensor>& a, const Share<Tensor>& b) {
  require(a->shape() == b->shape(), "a has shape ", a->shape().text(), ", b ", b->shape().text());
  Forward forward(a->context());
  const float *a_data = forward.dense(a), *b_data = forward.dense(b);
  Share<Tensor> out = forward.output(a->shape());
  forward.run(forward.table().add, {a_data, b_data, a->elements(), out->data()});
  if (wanted(tape, {a.get(), b.get()})) tape->append(std::make_unique<AddRecord>(), *out, {a.get(), b.get()});
  return out;
}

Share<Tensor> scale(Tape* tape, const Share<Tensor>& x, double factor) {
  Forward forward(x->context());
  const float* values = forward.dense(x);
  Share<Tensor> out = forward.output(x->shape());
  forward.run(forward.table().scale, {values, factor, x->elements(), {out->data(), false}});
  if (wanted(tape, {x.get()})) {
    auto record = std::make_unique<ScaleRecord>();
    record->factor = factor;
    record->count = x->elements();
    tape->append(std::move(record), *out, {x.get()});
  }
  return out;
}

}  // namespace hexapla::ops
