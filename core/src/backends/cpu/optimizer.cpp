// After backward: sum of squares, multiply, AdamW over lists of tensors, each list one hand-over. f64 inside, f32 stored.
#include <cmath>
#include <vector>

#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

constexpr Index chunk_elements = 8192;

Index chunks_of(Index count) { return (count + chunk_elements - 1) / chunk_elements; }

// Runs f(tensor, first, last, number of the chunk) over all tensors, in chunks that end with their tensor.
template <class Function> void for_chunks(Queue& queue, const ListArgs& list, Function&& f) {
  struct Chunk {
    Index tensor, first, last;
  };
  std::vector<Chunk> chunks;
  for (Index tensor = 0; tensor < list.tensor_count; ++tensor)
    for (Index first = 0; first < list.counts[tensor]; first += chunk_elements)
      chunks.push_back({tensor, first, std::min(list.counts[tensor], first + chunk_elements)});
  for_blocks(queue, static_cast<Index>(chunks.size()), 2, [&](Index from, Index to) {
    for (Index i = from; i < to; ++i) f(chunks[i].tensor, chunks[i].first, chunks[i].last, i);
  });
}

HXP_CLONES double square_sum_range(const float* values, Index count) {
  WideLanes squares{};
  Index i = 0;
  for (; i + wide_count <= count; i += wide_count) {
    const WideLanes wide = load_wide(values + i);
    squares += wide * wide;
  }
  double total = sum(squares);
  for (; i < count; ++i) total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return total;
}

HXP_CLONES void multiply_range(float* values, float factor, Index count) {
  for (Index i = 0; i < count; ++i) values[i] *= factor;
}

struct AdamWFactors {
  double keep, beta1, beta2, rest1, rest2, correction1, correction2, learning_rate, epsilon;
};

HXP_CLONES void adamw_range(float* parameters, const float* gradients, float* exp_avgs, float* exp_avg_sqs, Index count,
                            const AdamWFactors& f) {
  for (Index i = 0; i < count; ++i) {
    const double g = gradients[i];
    const double m = f.beta1 * exp_avgs[i] + f.rest1 * g;
    const double v = f.beta2 * exp_avg_sqs[i] + f.rest2 * (g * g);
    const double p = parameters[i] * f.keep;
    parameters[i] = static_cast<float>(p - f.learning_rate * (m / f.correction1) / (std::sqrt(v / f.correction2) + f.epsilon));
    exp_avgs[i] = static_cast<float>(m);
    exp_avg_sqs[i] = static_cast<float>(v);
  }
}

}  // namespace

std::uint64_t square_sum_scratch(const SquareSumArgs& args) {
  Index chunks = 0;
  for (Index tensor = 0; tensor < args.gradients.tensor_count; ++tensor) chunks += chunks_of(args.gradients.counts[tensor]);
  return static_cast<std::uint64_t>(chunks) * sizeof(double);
}

void square_sum(Queue& queue, const SquareSumArgs& args) {
  double* sums = static_cast<double*>(args.scratch);
  for_chunks(queue, args.gradients, [&](Index tensor, Index first, Index last, Index chunk) {
    sums[chunk] = square_sum_range(args.gradients.tensors[tensor] + first, last - first);
  });
  double total = 0;
  const Index chunks = static_cast<Index>(square_sum_scratch(args) / sizeof(double));
  for (Index chunk = 0; chunk < chunks; ++chunk) total += sums[chunk];
  *args.out = total;
}

void multiply_list(Queue& queue, const MultiplyArgs& args) {
  for_chunks(queue, args.tensors, [&](Index tensor, Index first, Index last, Index) {
    multiply_range(args.tensors.tensors[tensor] + first, args.factor, last - first);
  });
}

void adamw(Queue& queue, const AdamWArgs& args) {
  AdamWFactors f{};
  f.keep = 1.0 - args.learning_rate * args.weight_decay;
  f.beta1 = args.beta1;
  f.beta2 = args.beta2;
  f.rest1 = 1.0 - args.beta1;
  f.rest2 = 1.0 - args.beta2;
  f.correction1 = 1.0 - std::pow(args.beta1, static_cast<double>(args.step));
  f.correction2 = 1.0 - std::pow(args.beta2, static_cast<double>(args.step));
  f.learning_rate = args.learning_rate;
  f.epsilon = args.epsilon;
  for_chunks(queue, args.parameters, [&](Index tensor, Index first, Index last, Index) {
    adamw_range(args.parameters.tensors[tensor] + first, args.gradients[tensor] + first, args.exp_avgs[tensor] + first,
                args.exp_avg_sqs[tensor] + first, last - first, f);
  });
}

}  // namespace hexapla::backends::cpu
