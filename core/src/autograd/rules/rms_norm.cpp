// rms_norm over the last axis; backward recomputes the root from x.
#include "autograd/forward.hpp"
#include "autograd/operations.hpp"
#include "runtime/faults.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

struct RmsNormRecord final : Record {  // keeps x, gain
  double epsilon;
  std::int64_t rows, width;

  backends::RmsNormBackwardArgs arguments(const Backward& at) const {
    return {at.incoming, at.kept[0], at.kept[1], epsilon, rows, width, at.inputs[0], at.inputs[1], at.scratch};
  }
  std::uint64_t scratch_bytes(const backends::Table& table, const Backward& at) const override {
    return table.rms_norm_backward.scratch_bytes(arguments(at));
  }
  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.rms_norm_backward.run(queue, arguments(at));
  }
};

}  // namespace

Share<Tensor> rms_norm(Tape* tape, const Share<Tensor>& x, const Share<Tensor>& gain, double epsilon) {
  require_rank(gain, "gain", 1);
  const std::int64_t width = x->shape().last();
  require(gain->shape()[0] == width, "gain has ", gain->shape()[0], " values, the last axis of x ", width);
  require(epsilon >= 0, "epsilon is ", epsilon);
  if (faulty(Fault::rms_epsilon)) epsilon = 1e-5;
  const std::int64_t rows = width == 0 ? 0 : x->elements() / width;
  Forward forward(x->context());
  const float* values = forward.dense(x);
  const float* gains = forward.dense(gain);
  Share<Tensor> out = forward.output(x->shape());
  forward.run(forward.table().rms_norm, {values, gains, epsilon, rows, width, out->data()});
  if (wanted(tape, {x.get(), gain.get()})) {
    auto record = std::make_unique<RmsNormRecord>();
    record->kept = {x, gain};
    record->epsilon = epsilon;
    record->rows = rows;
    record->width = width;
    tape->append(std::move(record), *out, {x.get(), gain.get()});
  }
  return out;
}

}  // namespace hexapla::ops
