// rms_norm: gain · x / sqrt(mean(x²) + epsilon) by rows; sums in f64. Backward recomputes the root. The gain's gradient, seldom wanted,
// is summed over fixed blocks of rows and the blocks in order.
#include <cmath>

#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

constexpr Index gain_rows = 64;

HXP_INLINE double inverse_root(const float* x, Index width, double epsilon) {
  WideLanes squares{};
  Index i = 0;
  for (; i + wide_count <= width; i += wide_count) {
    const WideLanes values = load_wide(x + i);
    squares += values * values;
  }
  double total = sum(squares);
  for (; i < width; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return 1.0 / std::sqrt(total / static_cast<double>(width) + epsilon);
}

HXP_CLONES void forward_rows(const RmsNormArgs& args, Index first, Index last) {
  for (Index row = first; row < last; ++row) {
    const float* x = args.x + row * args.width;
    float* out = args.out + row * args.width;
    const double root = inverse_root(x, args.width, args.epsilon);
    const float factor = static_cast<float>(root);
    for (Index i = 0; i < args.width; ++i) out[i] = args.gain[i] * (x[i] * factor);
  }
}

// dx = root · (gain·dy − x · root² · mean(gain·dy·x)).
HXP_CLONES void backward_rows(const RmsNormBackwardArgs& args, Index first, Index last) {
  const Index width = args.width;
  for (Index row = first; row < last; ++row) {
    const float* x = args.x + row * width;
    const float* incoming = args.incoming + row * width;
    float* out = args.x_gradient.data + row * width;
    const double root = inverse_root(x, width, args.epsilon);
    WideLanes products{};
    Index i = 0;
    for (; i + wide_count <= width; i += wide_count)
      products += load_wide(args.gain + i) * load_wide(incoming + i) * load_wide(x + i);
    double total = sum(products);
    for (; i < width; ++i)
      total += static_cast<double>(args.gain[i]) * static_cast<double>(incoming[i]) * static_cast<double>(x[i]);
    const float direct = static_cast<float>(root);
    const float through = static_cast<float>(root * root * root * total / static_cast<double>(width));
    if (args.x_gradient.accumulate)
      for (i = 0; i < width; ++i) out[i] += (args.gain[i] * incoming[i]) * direct - x[i] * through;
    else
      for (i = 0; i < width; ++i) out[i] = (args.gain[i] * incoming[i]) * direct - x[i] * through;
  }
}

void gain_rows_sum(const RmsNormBackwardArgs& args, Index first, Index last, double* sums) {
  std::fill(sums, sums + args.width, 0.0);
  for (Index row = first; row < last; ++row) {
    const float* x = args.x + row * args.width;
    const float* incoming = args.incoming + row * args.width;
    const double root = inverse_root(x, args.width, args.epsilon);
    for (Index i = 0; i < args.width; ++i) sums[i] += static_cast<double>(incoming[i]) * (static_cast<double>(x[i]) * root);
  }
}

}  // namespace

void rms_norm(Queue& queue, const RmsNormArgs& args) {
  for_blocks(queue, args.rows, row_block(args.rows, args.width),
             [&](Index first, Index last) { forward_rows(args, first, last); });
}

std::uint64_t rms_norm_backward_scratch(const RmsNormBackwardArgs& args) {
  if (!args.gain_gradient) return 0;
  return static_cast<std::uint64_t>((args.rows + gain_rows - 1) / gain_rows * args.width) * sizeof(double);
}

void rms_norm_backward(Queue& queue, const RmsNormBackwardArgs& args) {
  if (args.x_gradient)
    for_blocks(queue, args.rows, row_block(args.rows, args.width),
               [&](Index first, Index last) { backward_rows(args, first, last); });
  if (!args.gain_gradient) return;
  double* sums = static_cast<double*>(args.scratch);
  for_blocks(queue, args.rows, gain_rows, [&](Index first, Index last) {
    gain_rows_sum(args, first, last, sums + first / gain_rows * args.width);
  });
  const Index blocks = (args.rows + gain_rows - 1) / gain_rows;
  for (Index i = 0; i < args.width; ++i) {
    double total = 0;
    for (Index block = 0; block < blocks; ++block) total += sums[block * args.width + i];
    float& to = args.gain_gradient.data[i];
    to = args.gain_gradient.accumulate ? to + static_cast<float>(total) : static_cast<float>(total);
  }
}

}  // namespace hexapla::backends::cpu
