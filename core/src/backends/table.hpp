// The operation table: everything that autograd and the optimizer ask of a device, as one struct of functions over raw device pointers.
// It is separate so that a second device (cuda) is one more table and nothing above it changes. It must not know tensors, tapes, handles
// or host languages, and no entry may allocate: the caller gives scratch of the size that the entry's `scratch` asks for.
//
// Arrays are f32, row-major and dense unless a View says otherwise. Counts and offsets are 64-bit. A Gradient is where a backward entry
// puts its result: it replaces what is there, or adds to it. A Gradient without data is not wanted, and no work is done for it.
#pragma once

#include <cstdint>

#include "runtime/function_ref.hpp"

namespace hexapla {
class Context;
}

namespace hexapla::backends {

using Index = std::int64_t;

// The place where entries run in order: the worker team of a cpu context, the stream of a cuda one. Each backend derives its own.
struct Queue {};

struct View {
  const float* data = nullptr;
  std::uint32_t rank = 0;
  Index shape[8] = {};
  Index strides[8] = {};
};

struct Gradient {
  float* data = nullptr;
  bool accumulate = false;
  explicit operator bool() const { return data != nullptr; }
};

struct FillArgs {
  float* out;
  Index count;
  float value;
};

// target (+)= source.
struct MoveArgs {
  const float* source;
  Gradient target;
  Index count;
};

// target (+)= the elements of a strided view, row-major.
struct GatherArgs {
  View source;
  Gradient target;
};

// base (+)= incoming, each element at the place of `base` that the view (shape, strides, from base's first element) reads it from.
struct ScatterArgs {
  const float* incoming;
  View places;  // data is not used; the strides reach into base
  Index offset;
  Gradient base;
  Index base_count;
};

struct EmbeddingArgs {
  const float* table;  // (vocabulary, width)
  const std::int32_t* ids;
  Index count, width;
  float* out;  // (count, width)
};

struct EmbeddingBackwardArgs {
  const float* incoming;  // (count, width)
  const std::int32_t* ids;
  Index count, width, vocabulary;
  Gradient table;
};

struct RmsNormArgs {
  const float *x, *gain;  // (rows, width), (width)
  double epsilon;
  Index rows, width;
  float* out;
};

struct RmsNormBackwardArgs {
  const float *incoming, *x, *gain;
  double epsilon;
  Index rows, width;
  Gradient x_gradient, gain_gradient;
  void* scratch;
};

// out (+)= op(a) op(b): a is (m, k), stored (k, m) when transposed; b is (k, n), stored (n, k) when transposed.
struct ProductArgs {
  bool transpose_a, transpose_b;
  Index m, n, k;
  const float *a, *b;
  Gradient out;
};

struct LoraLinearArgs {
  const float *x, *w, *a, *b;  // (rows, in), (out, in), (rank, in), (out, rank)
  double scale;
  Index rows, in, out, rank;
  float* projected;  // (rows, rank): x aᵀ; backward needs it
  float* result;  // (rows, out)
};

struct LoraLinearBackwardArgs {
  const float *incoming, *x, *w, *a, *b, *projected;
  double scale;
  Index rows, in, out, rank;
  Gradient x_gradient, w_gradient, a_gradient, b_gradient;
  void* scratch;
};

// Rotates each pair (i, i + width/2) by position · theta^(−2i/width); backward is the inverse rotation.
struct RopeArgs {
  const float* x;  // (rows, heads, width)
  const std::int32_t* positions;
  double theta;
  Index rows, heads, width;
  bool inverse;
  Gradient out;
  void* scratch;
};

struct AttentionArgs {
  const float *q, *k, *v;  // (rows, heads, width), (rows, kv_heads, width) twice
  const std::int32_t* starts;
  Index starts_count;
  bool causal;
  Index rows, heads, kv_heads, width;
  float* out;  // (rows, heads, width)
  float* statistics;  // (rows, heads, 2): the largest score, 1 / sum of exp(score − largest); backward needs them
};

struct AttentionBackwardArgs {
  AttentionArgs forward;  // out and statistics as forward left them
  const float* incoming;
  Gradient q_gradient, k_gradient, v_gradient;
};

struct SwigluArgs {
  const float *gate, *up;
  Index count;
  float* out;
};

struct SwigluBackwardArgs {
  const float *incoming, *gate, *up;
  Index count;
  Gradient gate_gradient, up_gradient;
};

struct AddArgs {
  const float *a, *b;
  Index count;
  float* out;
};

// out (+)= x · factor; backward is the same entry.
struct ScaleArgs {
  const float* x;
  double factor;
  Index count;
  Gradient out;
};

struct CrossEntropyArgs {
  const float *h, *w;  // (h_rows, width), (vocabulary, width)
  const std::int32_t *rows, *targets;
  Index count, h_rows, width, vocabulary;
  float* nll;  // (count)
  double* log_total;  // (count): log Σ exp(logit); backward needs it
  void* scratch;
};

struct CrossEntropyBackwardArgs {
  const float* incoming;  // (count)
  const float *h, *w;
  const std::int32_t *rows, *targets;
  const double* log_total;
  Index count, h_rows, width, vocabulary;
  Gradient h_gradient, w_gradient;
  void* scratch;
};

struct SoftmaxArgs {
  const float* x;
  Index rows, width;
  float* out;
};

struct SoftmaxBackwardArgs {
  const float *incoming, *out;
  Index rows, width;
  Gradient x_gradient;
};

// (outer, count, inner) → (outer, inner), or in backward the other way.
struct ReduceSumArgs {
  const float* x;
  Index outer, count, inner;
  Gradient out;
};

struct ListArgs {  // tensors that the optimizer handles as one
  float* const* tensors;
  const Index* counts;
  Index tensor_count;
};

struct SquareSumArgs {
  ListArgs gradients;
  double* out;  // host memory: one sum
  void* scratch;
};

struct MultiplyArgs {
  ListArgs tensors;
  float factor;
};

struct AdamWArgs {
  ListArgs parameters;
  const float* const* gradients;
  float* const* exp_avgs;
  float* const* exp_avg_sqs;
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  std::uint64_t step;
};

// One entry: what runs it, and the scratch bytes that it needs for arguments of these shapes (null = none; of the pointers
// only host arrays are read: ids, positions, starts, rows, targets lie in host memory on every device).
template <class Args> struct Entry {
  void (*run)(Queue&, const Args&) = nullptr;
  std::uint64_t (*scratch)(const Args&) = nullptr;

  std::uint64_t scratch_bytes(const Args& args) const { return scratch ? scratch(args) : 0; }
};

struct Table {
  // One hand-over: runs the job on the device's own threads, inside a call on the context, and returns when all that it queued is done.
  void (*submit)(Context&, FunctionRef<void(Queue&)> job) = nullptr;
  // Which libraries and kernels compute here, for hxp_build_info.
  const char *(*description)() = nullptr;

  Entry<FillArgs> fill;
  Entry<MoveArgs> move;
  Entry<GatherArgs> gather;
  Entry<ScatterArgs> scatter;
  Entry<EmbeddingArgs> embedding;
  Entry<EmbeddingBackwardArgs> embedding_backward;
  Entry<RmsNormArgs> rms_norm;
  Entry<RmsNormBackwardArgs> rms_norm_backward;
  Entry<ProductArgs> product;
  Entry<LoraLinearArgs> lora_linear;
  Entry<LoraLinearBackwardArgs> lora_linear_backward;
  Entry<RopeArgs> rope;
  Entry<AttentionArgs> attention;
  Entry<AttentionBackwardArgs> attention_backward;
  Entry<SwigluArgs> swiglu;
  Entry<SwigluBackwardArgs> swiglu_backward;
  Entry<AddArgs> add;
  Entry<ScaleArgs> scale;
  Entry<CrossEntropyArgs> linear_cross_entropy;
  Entry<CrossEntropyBackwardArgs> linear_cross_entropy_backward;
  Entry<SoftmaxArgs> softmax;
  Entry<SoftmaxBackwardArgs> softmax_backward;
  Entry<ReduceSumArgs> reduce_sum;
  Entry<ReduceSumArgs> reduce_sum_backward;
  Entry<SquareSumArgs> square_sum;
  Entry<MultiplyArgs> multiply;
  Entry<AdamWArgs> adamw;
};

}  // namespace hexapla::backends
