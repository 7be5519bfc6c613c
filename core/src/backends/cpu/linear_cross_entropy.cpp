// linear_cross_entropy: −log softmax(h wᵀ)[target] at chosen rows. Logits exist only as (label_block, word_chunk) tiles on the stack, with
// an online log-sum-exp over the chunks of the vocabulary; backward recomputes them. The h rows of the labels are gathered first, and
// their gradient is added back in the order of the labels.
#include <cmath>
#include <limits>

#include "backends/cpu/blas.hpp"
#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

namespace {

constexpr Index label_block = 64;
constexpr Index word_chunk = 256;
constexpr float negative_infinity = -std::numeric_limits<float>::infinity();

// Words that one tile of forward goes through; their partial results are joined in order.
constexpr Index word_span = 8192;

struct Partial {
  float best, target;  // largest logit; the target's logit, if it lies in the span
  double total;  // Σ exp(logit − best)
};

Index spans(Index vocabulary) { return std::max<Index>((vocabulary + word_span - 1) / word_span, 1); }

// Rows of a tile: at most label_block, and two tiles even of few labels.
Index labels_at_once(Index count) { return even_block(count, std::clamp<Index>((count + 1) / 2, 16, label_block - 4), 4); }

void gather_rows(Queue& queue, const float* h, const std::int32_t* rows, Index count, Index width, float* labels) {
  for_blocks(queue, count, row_block(count, width), [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) std::copy(h + rows[i] * width, h + (rows[i] + 1) * width, labels + i * width);
  });
}

HXP_CLONES void join_logits(const float* logits, Index count, float& best, double& total) {
  float top = best;
  for (Index i = 0; i < count; ++i) top = logits[i] > top ? logits[i] : top;
  const float base = top == negative_infinity ? 0.0f : top;
  WideLanes low{}, high{};
  for (Index i = 0; i < count; i += lane_count) {
    const Lanes weights =
        exponential((i + lane_count <= count ? load(logits + i) : load_part(logits + i, count - i, negative_infinity)) - base);
    float values[lane_count];
    store(values, weights);
    low += load_wide(values);
    high += load_wide(values + wide_count);
  }
  total = total * std::exp(static_cast<double>(best) - static_cast<double>(base)) + sum(low + high);
  best = top;
}

// Labels [first, last) against the words of one span.
void forward_tile(const CrossEntropyArgs& args, const float* labels, Partial* partials, Index first, Index last, Index span) {
  alignas(64) float logits[label_block * word_chunk];
  const Index span_count = spans(args.vocabulary);
  const Index end = std::min(args.vocabulary, (span + 1) * word_span);
  for (Index i = first; i < last; ++i) partials[i * span_count + span] = {negative_infinity, 0.0f, 0.0};
  for (Index word = span * word_span; word < end; word += word_chunk) {
    const Index words = std::min(word_chunk, end - word);
    multiply(false, true, last - first, words, args.width, 1.0f, labels + first * args.width, args.width, args.w + word * args.width,
             args.width, 0.0f, logits, word_chunk);
    for (Index i = first; i < last; ++i) {
      Partial& partial = partials[i * span_count + span];
      const float* row = logits + (i - first) * word_chunk;
      join_logits(row, words, partial.best, partial.total);
      if (const Index at = args.targets[i] - word; at >= 0 && at < words) partial.target = row[at];
    }
  }
}

void finish_label(const CrossEntropyArgs& args, const Partial* partials, Index label) {
  const Index span_count = spans(args.vocabulary);
  const Partial* own = partials + label * span_count;
  float best = negative_infinity;
  for (Index span = 0; span < span_count; ++span) best = own[span].best > best ? own[span].best : best;
  double total = 0;
  for (Index span = 0; span < span_count; ++span)
    total += own[span].total * std::exp(static_cast<double>(own[span].best) - static_cast<double>(best));
  const double log_total = static_cast<double>(best) + std::log(total);
  args.log_total[label] = log_total;
  args.nll[label] = static_cast<float>(log_total - static_cast<double>(own[args.targets[label] / word_span].target));
}

// logits → weight · (softmax − one at the target), in place. exp is taken from the f64 difference rounded once.
HXP_CLONES void slope_row(float* logits, Index count, double log_total, float weight) {
  const float high = static_cast<float>(log_total);
  const float low = static_cast<float>(log_total - static_cast<double>(high));
  Index i = 0;
  for (; i + lane_count <= count; i += lane_count)
    store(logits + i, exponential((load(logits + i) - high) - low) * weight);
  if (const Index rest = count - i; rest > 0)
    store_part(logits + i, exponential((load_part(logits + i, rest, negative_infinity) - high) - low) * weight, rest);
}

// The gradient at the logits of labels [first, last) and words [word, word + words), (labels, word_chunk).
void slopes(const CrossEntropyBackwardArgs& args, const float* labels, Index first, Index last, Index word, Index words,
            float* logits) {
  multiply(false, true, last - first, words, args.width, 1.0f, labels + first * args.width, args.width, args.w + word * args.width,
           args.width, 0.0f, logits, word_chunk);
  for (Index i = first; i < last; ++i) {
    float* row = logits + (i - first) * word_chunk;
    slope_row(row, words, args.log_total[i], args.incoming[i]);
    if (const Index at = args.targets[i] - word; at >= 0 && at < words) row[at] -= args.incoming[i];
  }
}

void h_tile(const CrossEntropyBackwardArgs& args, const float* labels, float* label_gradients, Index first, Index last) {
  alignas(64) float logits[label_block * word_chunk];
  for (Index word = 0; word < args.vocabulary; word += word_chunk) {
    const Index words = std::min(word_chunk, args.vocabulary - word);
    slopes(args, labels, first, last, word, words, logits);
    multiply(false, false, last - first, args.width, words, 1.0f, logits, word_chunk, args.w + word * args.width, args.width,
             word == 0 ? 0.0f : 1.0f, label_gradients + first * args.width, args.width);
  }
}

void w_tile(const CrossEntropyBackwardArgs& args, const float* labels, Index word) {
  alignas(64) float logits[label_block * word_chunk];
  const Index words = std::min(word_chunk, args.vocabulary - word);
  const Index block = labels_at_once(args.count);
  float* to = args.w_gradient.data + word * args.width;
  if (args.count == 0 && !args.w_gradient.accumulate) std::fill(to, to + words * args.width, 0.0f);
  for (Index first = 0; first < args.count; first += block) {
    const Index last = std::min(args.count, first + block);
    slopes(args, labels, first, last, word, words, logits);
    multiply(true, false, words, args.width, last - first, 1.0f, logits, word_chunk, labels + first * args.width, args.width,
             first != 0 || args.w_gradient.accumulate ? 1.0f : 0.0f, to, args.width);
  }
}

}  // namespace

std::uint64_t linear_cross_entropy_scratch(const CrossEntropyArgs& args) {
  return static_cast<std::uint64_t>(args.count) *
         (static_cast<std::uint64_t>(spans(args.vocabulary)) * sizeof(Partial) + static_cast<std::uint64_t>(args.width) * sizeof(float));
}

void linear_cross_entropy(Queue& queue, const CrossEntropyArgs& args) {
  Partial* partials = static_cast<Partial*>(args.scratch);
  const Index span_count = spans(args.vocabulary);
  float* labels = reinterpret_cast<float*>(partials + args.count * span_count);
  gather_rows(queue, args.h, args.rows, args.count, args.width, labels);
  const Index block = labels_at_once(args.count);
  const Index blocks = args.count == 0 ? 0 : (args.count + block - 1) / block;
  for_blocks(queue, blocks * span_count, 1, [&](Index from, Index to) {
    for (Index tile = from; tile < to; ++tile) {
      const Index first = tile / span_count * block;
      forward_tile(args, labels, partials, first, std::min(args.count, first + block), tile % span_count);
    }
  });
  for (Index label = 0; label < args.count; ++label) finish_label(args, partials, label);
}

std::uint64_t linear_cross_entropy_backward_scratch(const CrossEntropyBackwardArgs& args) {
  return static_cast<std::uint64_t>(2 * args.count * args.width) * sizeof(float);
}

void linear_cross_entropy_backward(Queue& queue, const CrossEntropyBackwardArgs& args) {
  float* labels = static_cast<float*>(args.scratch);
  float* label_gradients = labels + args.count * args.width;
  gather_rows(queue, args.h, args.rows, args.count, args.width, labels);
  if (args.h_gradient) {
    for_blocks(queue, args.count, labels_at_once(args.count),
               [&](Index first, Index last) { h_tile(args, labels, label_gradients, first, last); });
    EmbeddingBackwardArgs rows{label_gradients, args.rows, args.count, args.width, args.h_rows, args.h_gradient};
    embedding_backward(queue, rows);  // a row may carry several labels: added in order
  }
  if (args.w_gradient)
    for_blocks(queue, (args.vocabulary + word_chunk - 1) / word_chunk, 1, [&](Index first, Index last) {
      for (Index chunk = first; chunk < last; ++chunk) w_tile(args, labels, chunk * word_chunk);
    });
}

}  // namespace hexapla::backends::cpu
