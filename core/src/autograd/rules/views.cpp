// transpose, reshape, as_strided: views that share their input's storage; nothing runs going forward.
#include "autograd/forward.hpp"
#include "autograd/operations.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

struct TransposeRecord final : Record {
  backends::View swapped;  // the incoming gradient, read in the input's order

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    backends::GatherArgs arguments{swapped, at.inputs[0]};
    arguments.source.data = at.incoming;
    table.gather.run(queue, arguments);
  }
};

struct ReshapeRecord final : Record {
  bool passes_on(std::size_t) const override { return true; }
  void run(const backends::Table&, backends::Queue&, const Backward&) const override {}
};

struct StridedRecord final : Record {
  backends::View places;
  std::int64_t offset, base_count;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.scatter.run(queue, {at.incoming, places, offset, at.inputs[0], base_count});
  }
};

backends::View view_from(const Shape& shape, const Shape& strides) {
  backends::View view;
  view.rank = shape.rank();
  std::copy(shape.begin(), shape.end(), view.shape);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

Shape last_two_swapped(Shape sizes) {
  std::swap(sizes[sizes.rank() - 1], sizes[sizes.rank() - 2]);
  return sizes;
}

}  // namespace

Share<Tensor> transpose(Tape* tape, const Share<Tensor>& x) {
  require(x->rank() >= 2, "x has shape ", x->shape().text(), ", needed are two axes");
  const Shape shape = last_two_swapped(x->shape());
  Share<Tensor> out = view_of(*x, shape, last_two_swapped(x->strides()), x->offset());
  if (wanted(tape, {x.get()})) {
    auto record = std::make_unique<TransposeRecord>();
    record->swapped = view_from(x->shape(), last_two_swapped(shape.row_major()));
    tape->append(std::move(record), *out, {x.get()});
  }
  return out;
}

Share<Tensor> reshape(Tape* tape, const Share<Tensor>& x, const Shape& shape) {
  require(x->contiguous(), "x is not contiguous: its shape is ", x->shape().text(), ", its strides ", x->strides().text());
  require(shape.elements() == x->elements(), "shape ", shape.text(), " has ", shape.elements(), " elements, x ", x->elements());
  Share<Tensor> out = view_of(*x, shape, shape.row_major(), x->offset());
  if (wanted(tape, {x.get()})) tape->append(std::make_unique<ReshapeRecord>(), *out, {x.get()});
  return out;
}

Share<Tensor> as_strided(Tape* tape, const Share<Tensor>& x, const Shape& shape, const Shape& strides, std::int64_t offset) {
  require(x->contiguous(), "x is not contiguous: its shape is ", x->shape().text(), ", its strides ", x->strides().text());
  require(offset >= 0, "offset is ", offset);
  std::int64_t last = offset;
  for (std::uint32_t axis = 0; axis < shape.rank(); ++axis) {
    require(strides[axis] >= 0, "strides[", axis, "] is ", strides[axis]);
    std::int64_t reach = 0;
    const bool fits = shape[axis] < 2 || (!__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach) &&
                                          !__builtin_add_overflow(last, reach, &last));
    require(fits, "strides[", axis, "] is ", strides[axis], ": the view reaches past 63 bits");
  }
  require(shape.elements() == 0 || last < x->elements(), "the view reaches element ", last, ", x has ", x->elements());
  require(offset <= x->elements(), "offset is ", offset, ", x has ", x->elements(), " elements");
  Share<Tensor> out = view_of(*x, shape, strides, x->offset() + offset);
  if (wanted(tape, {x.get()})) {
    auto record = std::make_unique<StridedRecord>();
    record->places = view_from(shape, strides);
    record->offset = offset;
    record->base_count = x->elements();
    tape->append(std::move(record), *out, {x.get()});
  }
  return out;
}

}  // namespace hexapla::ops
