// attention: grouped-query, inside records, in blocks of query rows against chunks of keys with an online softmax (Dao et al. 2022), so
// that only (query_block, key_chunk) scores exist at a time, on the stack. Forward is cut into (record, head, query block), backward into
// (record, key head): one tile adds the gradients of a key head over its query heads in order. Longest tiles start first.
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/blas.hpp"
#include "backends/cpu/entries.hpp"
#include "backends/cpu/lanes.hpp"
#include "backends/cpu/queue.hpp"
#include "runtime/faults.hpp"

namespace hexapla::backends::cpu {

namespace {

constexpr Index query_block = 32;
constexpr Index key_chunk = 256;
constexpr float negative_infinity = -std::numeric_limits<float>::infinity();

// Rows [first, last) of one record.
struct Record {
  Index first, last;
  Index rows() const { return last - first; }
};

// Records, longest first; equal ones in order.
std::vector<Record> records_of(const AttentionArgs& args) {
  std::vector<Record> records;
  for (Index i = 0; i + 1 < args.starts_count; ++i)
    if (args.starts[i + 1] > args.starts[i]) records.push_back({args.starts[i], args.starts[i + 1]});
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.rows() > b.rows(); });
  return records;
}

// Each key head serves neighbouring query heads.
Index key_head_of(const AttentionArgs& args, Index head) {
  if (faulty(Fault::kv_heads_tiled)) return head % args.kv_heads;
  return head / (args.heads / args.kv_heads);
}

Index row_behind_records(const AttentionArgs& args) { return args.starts_count == 0 ? 0 : args.starts[args.starts_count - 1]; }

// How many of the keys from `chunk` on query row `row` sees, at most `keys`.
Index visible(const AttentionArgs& args, Index row, Index chunk, Index keys) {
  return args.causal ? std::clamp<Index>(row - chunk + 1, 0, keys) : keys;
}

// One chunk of scores for one row, turned into weights exp(score − largest) in place; scores behind `seen` become 0 up to `keys`.
// Updates the running maximum and sum, and returns the factor by which earlier results shrink.
HXP_CLONES float weigh_row(float* scores, Index seen, Index keys, float& best, double& total) {
  Lanes tops = all(negative_infinity);
  Index i = 0;
  for (; i + lane_count <= seen; i += lane_count) {
    const Lanes values = load(scores + i);
    tops = values > tops ? values : tops;
  }
  float top = largest(tops);
  for (; i < seen; ++i) top = scores[i] > top ? scores[i] : top;
  top = best > top ? best : top;
  const float base = top == negative_infinity ? 0.0f : top;
  Lanes sums{};
  for (i = 0; i + lane_count <= seen; i += lane_count) {
    const Lanes weights = exponential(load(scores + i) - base);
    sums += weights;
    store(scores + i, weights);
  }
  if (const Index rest = seen - i; rest > 0) {
    const Lanes weights = exponential(load_part(scores + i, rest, negative_infinity) - base);
    sums += weights;
    store_part(scores + i, weights, rest);
  }
  for (i = seen; i < keys; ++i) scores[i] = 0;
  const float shrink = static_cast<float>(std::exp(static_cast<double>(best) - static_cast<double>(base)));
  total = total * static_cast<double>(shrink) + sum(sums);
  best = top;
  return shrink;
}

HXP_CLONES void shrink_row(float* row, float factor, Index width) {
  for (Index i = 0; i < width; ++i) row[i] *= factor;
}

void forward_block(const AttentionArgs& args, const Record& record, Index head, Index block) {
  alignas(64) float scores[query_block * key_chunk];
  float best[query_block];
  double total[query_block];
  const Index row = record.first + block * query_block;
  const Index rows = std::min(query_block, record.last - row);
  const Index end = args.causal ? row + rows : record.last;
  const Index query_stride = args.heads * args.width;
  const Index key_stride = args.kv_heads * args.width;
  const Index key_head = key_head_of(args, head);
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(args.width)));
  const float* q = args.q + row * query_stride + head * args.width;
  float* out = args.out + row * query_stride + head * args.width;
  std::fill(best, best + rows, negative_infinity);
  std::fill(total, total + rows, 0.0);
  for (Index chunk = record.first; chunk < end; chunk += key_chunk) {
    const Index keys = std::min(key_chunk, end - chunk);
    const Index at = chunk * key_stride + key_head * args.width;
    multiply(false, true, rows, keys, args.width, scale, q, query_stride, args.k + at, key_stride, 0.0f, scores, key_chunk);
    for (Index i = 0; i < rows; ++i) {
      const float shrink =
          weigh_row(scores + i * key_chunk, visible(args, row + i, chunk, keys), keys, best[i], total[i]);
      if (chunk != record.first) shrink_row(out + i * query_stride, shrink, args.width);
    }
    multiply(false, false, rows, args.width, keys, 1.0f, scores, key_chunk, args.v + at, key_stride,
             chunk == record.first ? 0.0f : 1.0f, out, query_stride);
  }
  for (Index i = 0; i < rows; ++i) {
    const float inverse = total[i] == 0 ? 0.0f : static_cast<float>(1.0 / total[i]);
    shrink_row(out + i * query_stride, inverse, args.width);
    float* statistics = args.statistics + ((row + i) * args.heads + head) * 2;
    statistics[0] = best[i];
    statistics[1] = inverse;
  }
}

// Scores of one row become weights (0 behind `seen`). Returns the sum of weights · d(weights), the mean that softmax's gradient
// subtracts: taken from the very products that it is subtracted from, it cancels them exactly where one key has all the weight.
HXP_CLONES float weights_row(float* scores, const float* slopes, Index seen, Index keys, const float* statistics) {
  const float base = statistics[0] == negative_infinity ? 0.0f : statistics[0];
  const float inverse = statistics[1];
  Lanes sums{};
  Index i = 0;
  for (; i + lane_count <= seen; i += lane_count) {
    const Lanes weights = exponential(load(scores + i) - base) * inverse;
    sums += weights * load(slopes + i);
    store(scores + i, weights);
  }
  if (const Index rest = seen - i; rest > 0) {
    const Lanes weights = exponential(load_part(scores + i, rest, negative_infinity) - base) * inverse;
    sums += weights * load_part(slopes + i, rest, 0);
    store_part(scores + i, weights, rest);
  }
  for (i = seen; i < keys; ++i) scores[i] = 0;
  return static_cast<float>(sum(sums));
}

// d(weights) of one row become the gradient at the scores before their scale, which the products that follow apply once.
HXP_CLONES void slopes_row(const float* weights, float* slopes, Index seen, Index keys, float mean) {
  for (Index i = 0; i < seen; ++i) slopes[i] = weights[i] * (slopes[i] - mean);
  for (Index i = seen; i < keys; ++i) slopes[i] = 0;
}

float dot(const float* a, const float* b, Index count) {
  double total = 0;
  for (Index i = 0; i < count; ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return static_cast<float>(total);
}

void backward_block(const AttentionBackwardArgs& args, const Record& record, Index head, Index block) {
  alignas(64) float scores[query_block * key_chunk];
  alignas(64) float slopes[query_block * key_chunk];
  float means[query_block];
  const AttentionArgs& f = args.forward;
  const Index row = record.first + block * query_block;
  const Index rows = std::min(query_block, record.last - row);
  const Index end = f.causal ? row + rows : record.last;
  const Index query_stride = f.heads * f.width;
  const Index key_stride = f.kv_heads * f.width;
  const Index key_head = key_head_of(f, head);
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(f.width)));
  const Index query_at = row * query_stride + head * f.width;
  const float* incoming = args.incoming + query_at;
  const bool one_chunk = end - record.first <= key_chunk;  // else the sum over all keys is not at hand, and the output stands in for it
  for (Index i = 0; i < rows && !one_chunk; ++i)
    means[i] = dot(incoming + i * query_stride, f.out + query_at + i * query_stride, f.width);
  for (Index chunk = record.first; chunk < end; chunk += key_chunk) {
    const Index keys = std::min(key_chunk, end - chunk);
    const Index at = chunk * key_stride + key_head * f.width;
    multiply(false, true, rows, keys, f.width, scale, f.q + query_at, query_stride, f.k + at, key_stride, 0.0f, scores, key_chunk);
    multiply(false, true, rows, keys, f.width, 1.0f, incoming, query_stride, f.v + at, key_stride, 0.0f, slopes, key_chunk);
    for (Index i = 0; i < rows; ++i) {
      const Index seen = visible(f, row + i, chunk, keys), at_row = i * key_chunk;
      const float mean = weights_row(scores + at_row, slopes + at_row, seen, keys, f.statistics + ((row + i) * f.heads + head) * 2);
      slopes_row(scores + at_row, slopes + at_row, seen, keys, one_chunk ? mean : means[i]);
    }
    if (args.q_gradient)
      multiply(false, false, rows, f.width, keys, scale, slopes, key_chunk, f.k + at, key_stride,
               chunk != record.first || args.q_gradient.accumulate ? 1.0f : 0.0f, args.q_gradient.data + query_at, query_stride);
    if (args.k_gradient)
      multiply(true, false, keys, f.width, rows, scale, slopes, key_chunk, f.q + query_at, query_stride, 1.0f,
               args.k_gradient.data + at, key_stride);
    if (args.v_gradient)
      multiply(true, false, keys, f.width, rows, 1.0f, scores, key_chunk, incoming, query_stride, 1.0f, args.v_gradient.data + at,
               key_stride);
  }
}

// Zeros in the rows of one key head in one record, where the products add up.
void clear_head(const Gradient& gradient, const Record& record, Index head, Index heads, Index width) {
  if (!gradient || gradient.accumulate) return;
  for (Index row = record.first; row < record.last; ++row) {
    float* to = gradient.data + (row * heads + head) * width;
    std::fill(to, to + width, 0.0f);
  }
}

void clear_behind(Queue& queue, const Gradient& gradient, Index first_row, Index rows, Index row_width) {
  if (!gradient || gradient.accumulate) return;
  fill(queue, {gradient.data + first_row * row_width, (rows - first_row) * row_width, 0.0f});
}

}  // namespace

void attention(Queue& queue, const AttentionArgs& args) {
  const std::vector<Record> records = records_of(args);
  struct Tile {
    Index record, head, block;
  };
  std::vector<Tile> tiles;
  for (Index record = 0; record < static_cast<Index>(records.size()); ++record)
    for (Index block = (records[record].rows() + query_block - 1) / query_block; block-- > 0;)
      for (Index head = 0; head < args.heads; ++head) tiles.push_back({record, head, block});
  for_blocks(queue, static_cast<Index>(tiles.size()), 2, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) forward_block(args, records[tiles[i].record], tiles[i].head, tiles[i].block);
  });
  clear_behind(queue, {args.out, false}, row_behind_records(args), args.rows, args.heads * args.width);
}

void attention_backward(Queue& queue, const AttentionBackwardArgs& args) {
  const AttentionArgs& f = args.forward;
  const std::vector<Record> records = records_of(f);
  for_blocks(queue, static_cast<Index>(records.size()) * f.kv_heads, 1, [&](Index first, Index last) {
    for (Index tile = first; tile < last; ++tile) {
      const Record& record = records[tile / f.kv_heads];
      const Index key_head = tile % f.kv_heads;
      clear_head(args.k_gradient, record, key_head, f.kv_heads, f.width);
      clear_head(args.v_gradient, record, key_head, f.kv_heads, f.width);
      for (Index head = 0; head < f.heads; ++head)
        for (Index block = 0; key_head_of(f, head) == key_head && block * query_block < record.rows(); ++block)
          backward_block(args, record, head, block);
    }
  });
  const Index behind = row_behind_records(f);
  clear_behind(queue, args.q_gradient, behind, f.rows, f.heads * f.width);
  clear_behind(queue, args.k_gradient, behind, f.rows, f.kv_heads * f.width);
  clear_behind(queue, args.v_gradient, behind, f.rows, f.kv_heads * f.width);
}

}  // namespace hexapla::backends::cpu
