// linear, matmul and lora_linear: matrix products. A record keeps a factor only if the gradient of another one needs it.
#include "autograd/forward.hpp"
#include "autograd/operations.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

// out (m, n) = a (m, k) · b, which is stored (n, k) when transposed (linear) or (k, n) (matmul).
struct ProductRecord final : Record {  // keeps a, b
  bool transposed;
  std::int64_t m, n, k;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    if (at.inputs[0]) table.product.run(queue, {false, !transposed, m, k, n, at.incoming, at.kept[1], at.inputs[0]});
    if (!at.inputs[1]) return;
    if (transposed)
      table.product.run(queue, {true, false, n, k, m, at.incoming, at.kept[0], at.inputs[1]});
    else
      table.product.run(queue, {true, false, k, n, m, at.kept[0], at.incoming, at.inputs[1]});
  }
};

Share<Tensor> product(Tape* tape, const Share<Tensor>& a, const Share<Tensor>& b, bool transposed) {
  const std::int64_t m = a->shape()[0], k = a->shape()[1], n = b->shape()[transposed ? 0 : 1];
  Forward forward(a->context());
  const float* left = forward.dense(a);
  const float* right = forward.dense(b);
  Share<Tensor> out = forward.output({m, n});
  forward.run(forward.table().product, {false, transposed, m, n, k, left, right, {out->data(), false}});
  if (wanted(tape, {a.get(), b.get()})) {
    auto record = std::make_unique<ProductRecord>();
    if (has_slot(tape, b)) record->kept[0] = a;
    if (has_slot(tape, a)) record->kept[1] = b;
    record->transposed = transposed;
    record->m = m;
    record->n = n;
    record->k = k;
    tape->append(std::move(record), *out, {a.get(), b.get()});
  }
  return out;
}

struct LoraLinearRecord final : Record {  // keeps x, w, a, b, x aᵀ
  double scale;
  std::int64_t rows, in, out, rank;

  backends::LoraLinearBackwardArgs arguments(const Backward& at) const {
    return {at.incoming, at.kept[0], at.kept[1], at.kept[2], at.kept[3], at.kept[4], scale, rows, in, out, rank,
            at.inputs[0], at.inputs[1], at.inputs[2], at.inputs[3], at.scratch};
  }
  std::uint64_t scratch_bytes(const backends::Table& table, const Backward& at) const override {
    return table.lora_linear_backward.scratch_bytes(arguments(at));
  }
  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.lora_linear_backward.run(queue, arguments(at));
  }
};

}  // namespace

Share<Tensor> linear(Tape* tape, const Share<Tensor>& x, const Share<Tensor>& w) {
  require_rank(x, "x", 2);
  require_rank(w, "w", 2);
  require(x->shape()[1] == w->shape()[1], "x has ", x->shape()[1], " columns, w ", w->shape()[1]);
  return product(tape, x, w, true);
}

Share<Tensor> matmul(Tape* tape, const Share<Tensor>& a, const Share<Tensor>& b) {
  require_rank(a, "a", 2);
  require_rank(b, "b", 2);
  require(a->shape()[1] == b->shape()[0], "a has ", a->shape()[1], " columns, b ", b->shape()[0], " rows");
  return product(tape, a, b, false);
}

Share<Tensor> lora_linear(Tape* tape, const Share<Tensor>& x, const Share<Tensor>& w, const Share<Tensor>& a, const Share<Tensor>& b,
                          double scale) {
  require_rank(x, "x", 2);
  require_rank(w, "w", 2);
  require_rank(a, "a", 2);
  require_rank(b, "b", 2);
  const std::int64_t rows = x->shape()[0], in = x->shape()[1], out = w->shape()[0], rank = a->shape()[0];
  require(w->shape()[1] == in, "x has ", in, " columns, w ", w->shape()[1]);
  require(a->shape()[1] == in, "x has ", in, " columns, a ", a->shape()[1]);
  require(b->shape()[0] == out, "w has ", out, " rows, b ", b->shape()[0]);
  require(b->shape()[1] == rank, "a has ", rank, " rows, b ", b->shape()[1], " columns");
  Forward forward(x->context());
  const float *x_data = forward.dense(x), *w_data = forward.dense(w), *a_data = forward.dense(a), *b_data = forward.dense(b);
  Share<Tensor> projected = forward.output({rows, rank});
  Share<Tensor> result = forward.output({rows, out});
  forward.run(forward.table().lora_linear,
              {x_data, w_data, a_data, b_data, scale, rows, in, out, rank, projected->data(), result->data()});
  if (wanted(tape, {x.get(), w.get(), a.get(), b.get()})) {
    const bool x_wanted = has_slot(tape, x), w_wanted = has_slot(tape, w), a_wanted = has_slot(tape, a);
    auto record = std::make_unique<LoraLinearRecord>();
    if (w_wanted || a_wanted) record->kept[0] = x;
    if (x_wanted) record->kept[1] = w;
    if (x_wanted) record->kept[2] = a;
    if (x_wanted || a_wanted) record->kept[3] = b;
    if (has_slot(tape, b)) record->kept[4] = projected;
    record->scale = scale;
    record->rows = rows;
    record->in = in;
    record->out = out;
    record->rank = rank;
    tape->append(std::move(record), *result, {x.get(), w.get(), a.get(), b.get()});
  }
  return result;
}

}  // namespace hexapla::ops
