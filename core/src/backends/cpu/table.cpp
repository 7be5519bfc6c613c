// The cpu's operation table, filled; and how a job reaches the workers of its context.
#include "backends/cpu/table.hpp"

#include "backends/cpu/blas.hpp"
#include "backends/cpu/entries.hpp"
#include "backends/cpu/queue.hpp"
#include "runtime/context.hpp"

namespace hexapla::backends::cpu {

namespace {

void submit(Context& context, FunctionRef<void(Queue&)> job) {
  context.run([&](Team& team) {
    TeamQueue queue(team);
    job(queue);
  });
}

Table filled() {
  Table table;
  table.submit = submit;
  table.description = blas_description;
  table.fill = {fill, nullptr};
  table.move = {move, nullptr};
  table.gather = {gather, nullptr};
  table.scatter = {scatter, nullptr};
  table.embedding = {embedding, nullptr};
  table.embedding_backward = {embedding_backward, nullptr};
  table.rms_norm = {rms_norm, nullptr};
  table.rms_norm_backward = {rms_norm_backward, rms_norm_backward_scratch};
  table.product = {product, nullptr};
  table.lora_linear = {lora_linear, nullptr};
  table.lora_linear_backward = {lora_linear_backward, lora_linear_backward_scratch};
  table.rope = {rope, rope_scratch};
  table.attention = {attention, nullptr};
  table.attention_backward = {attention_backward, nullptr};
  table.swiglu = {swiglu, nullptr};
  table.swiglu_backward = {swiglu_backward, nullptr};
  table.add = {add, nullptr};
  table.scale = {scale, nullptr};
  table.linear_cross_entropy = {linear_cross_entropy, linear_cross_entropy_scratch};
  table.linear_cross_entropy_backward = {linear_cross_entropy_backward, linear_cross_entropy_backward_scratch};
  table.softmax = {softmax, nullptr};
  table.softmax_backward = {softmax_backward, nullptr};
  table.reduce_sum = {reduce_sum, nullptr};
  table.reduce_sum_backward = {reduce_sum_backward, nullptr};
  table.square_sum = {square_sum, square_sum_scratch};
  table.multiply = {multiply_list, nullptr};
  table.adamw = {adamw, nullptr};
  return table;
}

}  // namespace

const Table& table() {
  static const Table filled_once = filled();
  return filled_once;
}

}  // namespace hexapla::backends::cpu
