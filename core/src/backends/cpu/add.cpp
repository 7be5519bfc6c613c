// Elementwise entries without arithmetic of their own: fill, move, add, scale.
#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

HXP_CLONES void add_range(const float* a, const float* b, float* out, Index count) {
  for (Index i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

HXP_CLONES void scale_range(const float* x, float factor, float* out, Index count, bool accumulate) {
  if (accumulate)
    for (Index i = 0; i < count; ++i) out[i] += x[i] * factor;
  else
    for (Index i = 0; i < count; ++i) out[i] = x[i] * factor;
}

}  // namespace

void fill(Queue& queue, const FillArgs& args) {
  for_blocks(queue, args.count, 2 * element_block(args.count),
             [&](Index first, Index last) { std::fill(args.out + first, args.out + last, args.value); });
}

void move(Queue& queue, const MoveArgs& args) {
  for_blocks(queue, args.count, element_block(args.count), [&](Index first, Index last) {
    if (args.target.accumulate)
      add_range(args.target.data + first, args.source + first, args.target.data + first, last - first);
    else
      std::copy(args.source + first, args.source + last, args.target.data + first);
  });
}

void add(Queue& queue, const AddArgs& args) {
  for_blocks(queue, args.count, element_block(args.count), [&](Index first, Index last) {
    add_range(args.a + first, args.b + first, args.out + first, last - first);
  });
}

void scale(Queue& queue, const ScaleArgs& args) {
  const float factor = static_cast<float>(args.factor);
  for_blocks(queue, args.count, element_block(args.count), [&](Index first, Index last) {
    scale_range(args.x + first, factor, args.out.data + first, last - first, args.out.accumulate);
  });
}

}  // namespace hexapla::backends::cpu
