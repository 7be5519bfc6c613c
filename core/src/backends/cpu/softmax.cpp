// softmax over the last axis. A row of −infinity alone gives zeros; its zero output makes its gradient zero.
#include <cmath>
#include <limits>

#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

constexpr float negative_infinity = -std::numeric_limits<float>::infinity();

HXP_CLONES void forward_rows(const SoftmaxArgs& args, Index first, Index last) {
  for (Index row = first; row < last; ++row) {
    const float* x = args.x + row * args.width;
    float* out = args.out + row * args.width;
    float best = negative_infinity;
    for (Index i = 0; i < args.width; ++i) best = x[i] > best ? x[i] : best;
    const float base = best == negative_infinity ? 0.0f : best;
    double total = 0;
    for (Index i = 0; i < args.width; i += lane_count) {
      const Index count = std::min(lane_count, args.width - i);
      const Lanes weights = exponential(load_part(x + i, count, negative_infinity) - base);
      store_part(out + i, weights, count);
      total += sum(weights);
    }
    const double inverse = total == 0 ? 0.0 : 1.0 / total;
    for (Index i = 0; i < args.width; ++i) out[i] = static_cast<float>(out[i] * inverse);
  }
}

HXP_CLONES void backward_rows(const SoftmaxBackwardArgs& args, Index first, Index last) {
  for (Index row = first; row < last; ++row) {
    const float* incoming = args.incoming + row * args.width;
    const float* out = args.out + row * args.width;
    float* to = args.x_gradient.data + row * args.width;
    double total = 0;
    for (Index i = 0; i < args.width; ++i) total += static_cast<double>(incoming[i]) * static_cast<double>(out[i]);
    for (Index i = 0; i < args.width; ++i) {
      const float value = static_cast<float>(out[i] * (incoming[i] - total));
      to[i] = args.x_gradient.accumulate ? to[i] + value : value;
    }
  }
}

}  // namespace

void softmax(Queue& queue, const SoftmaxArgs& args) {
  for_blocks(queue, args.rows, row_block(args.rows, args.width),
             [&](Index first, Index last) { forward_rows(args, first, last); });
}

void softmax_backward(Queue& queue, const SoftmaxBackwardArgs& args) {
  for_blocks(queue, args.rows, row_block(args.rows, args.width),
             [&](Index first, Index last) { backward_rows(args, first, last); });
}

}  // namespace hexapla::backends::cpu
