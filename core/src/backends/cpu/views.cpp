// Strided views: reading one into dense memory, and its way back, which adds into the elements that were read.
#include "backends/cpu/entries.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

Index elements(const View& view) {
  Index count = 1;
  for (std::uint32_t axis = 0; axis < view.rank; ++axis) count *= view.shape[axis];
  return count;
}

// The place of the row-major element `index`, in elements from the view's first.
Index place(const View& view, Index index) {
  Index at = 0;
  for (std::uint32_t axis = view.rank; axis-- > 0;) {
    at += index % view.shape[axis] * view.strides[axis];
    index /= view.shape[axis];
  }
  return at;
}

}  // namespace

void gather(Queue& queue, const GatherArgs& args) {
  const View& view = args.source;
  const Index count = elements(view);
  if (count == 0) return;
  const Index width = view.shape[view.rank - 1];
  const Index stride = view.strides[view.rank - 1];
  for_blocks(queue, count / width, row_block(count / width, width), [&](Index first, Index last) {
    for (Index row = first; row < last; ++row) {
      const float* from = view.data + place(view, row * width);
      float* to = args.target.data + row * width;
      if (args.target.accumulate)
        for (Index i = 0; i < width; ++i) to[i] += from[i * stride];
      else
        for (Index i = 0; i < width; ++i) to[i] = from[i * stride];
    }
  });
}

void scatter(Queue& queue, const ScatterArgs& args) {
  if (!args.base.accumulate) fill(queue, {args.base.data, args.base_count, 0.0f});
  const Index count = elements(args.places);
  // One worker, in row-major order: views may read an element more than once, and the order of additions is part of the result.
  for (Index i = 0; i < count; ++i) args.base.data[args.offset + place(args.places, i)] += args.incoming[i];
}

}  // namespace hexapla::backends::cpu
