// softmax and reduce_sum: along one axis.
#include <vector>

#include "autograd/forward.hpp"
#include "autograd/operations.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

struct SoftmaxRecord final : Record {  // keeps out
  std::int64_t rows, width;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.softmax_backward.run(queue, {at.incoming, at.kept[0], rows, width, at.inputs[0]});
  }
};

struct ReduceSumRecord final : Record {
  std::int64_t outer, count, inner;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.reduce_sum_backward.run(queue, {at.incoming, outer, count, inner, at.inputs[0]});
  }
};

}  // namespace

Share<Tensor> softmax(Tape* tape, const Share<Tensor>& x) {
  const std::int64_t width = x->shape().last();
  const std::int64_t rows = width == 0 ? 0 : x->elements() / width;
  Forward forward(x->context());
  const float* values = forward.dense(x);
  Share<Tensor> out = forward.output(x->shape());
  forward.run(forward.table().softmax, {values, rows, width, out->data()});
  if (wanted(tape, {x.get()})) {
    auto record = std::make_unique<SoftmaxRecord>();
    record->kept[0] = out;
    record->rows = rows;
    record->width = width;
    tape->append(std::move(record), *out, {x.get()});
  }
  return out;
}

Share<Tensor> reduce_sum(Tape* tape, const Share<Tensor>& x, std::uint32_t axis) {
  require(axis < x->rank(), "axis is ", axis, ", x has ", x->rank(), " axes");
  std::int64_t outer = 1, inner = 1;
  std::vector<std::int64_t> left;
  for (std::uint32_t i = 0; i < x->rank(); ++i) {
    if (i == axis) continue;
    (i < axis ? outer : inner) *= x->shape()[i];
    left.push_back(x->shape()[i]);
  }
  if (left.empty()) left.push_back(1);
  const std::int64_t count = x->shape()[axis];
  Forward forward(x->context());
  const float* values = forward.dense(x);
  Share<Tensor> out = forward.output(Shape(std::span<const std::int64_t>(left)));
  forward.run(forward.table().reduce_sum, {values, outer, count, inner, {out->data(), false}});
  if (wanted(tape, {x.get()})) {
    auto record = std::make_unique<ReduceSumRecord>();
    record->outer = outer;
    record->count = count;
    record->inner = inner;
    tape->append(std::move(record), *out, {x.get()});
  }
  return out;
}

}  // namespace hexapla::ops
