// reduce_sum over the middle of (outer, count, inner), in f64 and in order; backward repeats.
#include "backends/cpu/entries.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

constexpr Index columns_at_once = 64;

void sum_columns(const ReduceSumArgs& args, Index outer, Index column, Index columns) {
  double totals[columns_at_once] = {};
  const float* from = args.x + outer * args.count * args.inner + column;
  for (Index i = 0; i < args.count; ++i)
    for (Index j = 0; j < columns; ++j) totals[j] += static_cast<double>(from[i * args.inner + j]);
  float* to = args.out.data + outer * args.inner + column;
  for (Index j = 0; j < columns; ++j) to[j] = static_cast<float>(totals[j]);
}

}  // namespace

void reduce_sum(Queue& queue, const ReduceSumArgs& args) {
  const Index blocks = (args.inner + columns_at_once - 1) / columns_at_once;
  const Index cost = std::max<Index>(args.count * std::min(args.inner, columns_at_once), 1);
  for_blocks(queue, args.outer * blocks, even_block(args.outer * blocks, 16384 / cost + 1), [&](Index first, Index last) {
    for (Index tile = first; tile < last; ++tile) {
      const Index column = tile % blocks * columns_at_once;
      sum_columns(args, tile / blocks, column, std::min(columns_at_once, args.inner - column));
    }
  });
}

void reduce_sum_backward(Queue& queue, const ReduceSumArgs& args) {
  for_blocks(queue, args.outer * args.count, row_block(args.outer * args.count, args.inner), [&](Index first, Index last) {
    for (Index row = first; row < last; ++row) {
      const float* from = args.x + row / args.count * args.inner;
      float* to = args.out.data + row * args.inner;
      for (Index i = 0; i < args.inner; ++i) to[i] = args.out.accumulate ? to[i] + from[i] : from[i];
    }
  });
}

}  // namespace hexapla::backends::cpu
