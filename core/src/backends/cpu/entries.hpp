// Declares the entries of the cpu table; each is defined in the file of its operation.
#pragma once

#include "backends/table.hpp"

namespace hexapla::backends::cpu {

void fill(Queue&, const FillArgs&);
void move(Queue&, const MoveArgs&);
void gather(Queue&, const GatherArgs&);
void scatter(Queue&, const ScatterArgs&);
void embedding(Queue&, const EmbeddingArgs&);
void embedding_backward(Queue&, const EmbeddingBackwardArgs&);
void rms_norm(Queue&, const RmsNormArgs&);
void rms_norm_backward(Queue&, const RmsNormBackwardArgs&);
std::uint64_t rms_norm_backward_scratch(const RmsNormBackwardArgs&);
void product(Queue&, const ProductArgs&);
void lora_linear(Queue&, const LoraLinearArgs&);
void lora_linear_backward(Queue&, const LoraLinearBackwardArgs&);
std::uint64_t lora_linear_backward_scratch(const LoraLinearBackwardArgs&);
void rope(Queue&, const RopeArgs&);
std::uint64_t rope_scratch(const RopeArgs&);
void attention(Queue&, const AttentionArgs&);
void attention_backward(Queue&, const AttentionBackwardArgs&);
void swiglu(Queue&, const SwigluArgs&);
void swiglu_backward(Queue&, const SwigluBackwardArgs&);
void add(Queue&, const AddArgs&);
void scale(Queue&, const ScaleArgs&);
void linear_cross_entropy(Queue&, const CrossEntropyArgs&);
std::uint64_t linear_cross_entropy_scratch(const CrossEntropyArgs&);
void linear_cross_entropy_backward(Queue&, const CrossEntropyBackwardArgs&);
std::uint64_t linear_cross_entropy_backward_scratch(const CrossEntropyBackwardArgs&);
void softmax(Queue&, const SoftmaxArgs&);
void softmax_backward(Queue&, const SoftmaxBackwardArgs&);
void reduce_sum(Queue&, const ReduceSumArgs&);
void reduce_sum_backward(Queue&, const ReduceSumArgs&);
void square_sum(Queue&, const SquareSumArgs&);
std::uint64_t square_sum_scratch(const SquareSumArgs&);
void multiply_list(Queue&, const MultiplyArgs&);
void adamw(Queue&, const AdamWArgs&);

}  // namespace hexapla::backends::cpu
