// rope and attention: what works on heads. Attention keeps its output and two numbers a row and head, from which backward recomputes the
// weights; rope keeps the positions alone.
#include <vector>

#include "autograd/forward.hpp"
#include "autograd/operations.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

struct RopeRecord final : Record {
  std::vector<std::int32_t> positions;
  double theta;
  std::int64_t rows, heads, width;

  backends::RopeArgs arguments(const Backward& at) const {
    return {at.incoming, positions.data(), theta, rows, heads, width, true, at.inputs[0], at.scratch};
  }
  std::uint64_t scratch_bytes(const backends::Table& table, const Backward& at) const override {
    return table.rope.scratch_bytes(arguments(at));
  }
  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.rope.run(queue, arguments(at));
  }
};

struct AttentionRecord final : Record {  // keeps q, k, v, out, statistics
  std::vector<std::int32_t> starts;
  bool causal;
  std::int64_t rows, heads, kv_heads, width;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    backends::AttentionArgs forward{};
    forward.q = at.kept[0];
    forward.k = at.kept[1];
    forward.v = at.kept[2];
    forward.starts = starts.data();
    forward.starts_count = static_cast<std::int64_t>(starts.size());
    forward.causal = causal;
    forward.rows = rows;
    forward.heads = heads;
    forward.kv_heads = kv_heads;
    forward.width = width;
    forward.out = const_cast<float*>(at.kept[3]);
    forward.statistics = const_cast<float*>(at.kept[4]);
    table.attention_backward.run(queue, {forward, at.incoming, at.inputs[0], at.inputs[1], at.inputs[2]});
  }
};

void check_starts(Ids starts, std::int64_t rows) {
  require(!starts.empty(), "starts is empty: it holds at least the row behind the last record");
  require(starts[0] == 0, "starts[0] is ", starts[0], ", not 0");
  for (std::size_t i = 1; i < starts.size(); ++i)
    require(starts[i] >= starts[i - 1], "starts[", i, "] is ", starts[i], ", below the ", starts[i - 1], " before it");
  require(starts.back() <= rows, "starts ends at row ", starts.back(), ", q has ", rows, " rows");
}

}  // namespace

Share<Tensor> rope(Tape* tape, const Share<Tensor>& x, Ids positions, double theta) {
  require_rank(x, "x", 3);
  const std::int64_t rows = x->shape()[0], heads = x->shape()[1], width = x->shape()[2];
  require(width % 2 == 0, "x has width ", width, ", which is odd");
  require(static_cast<std::int64_t>(positions.size()) == rows, "there are ", positions.size(), " positions for ", rows, " rows");
  require(theta > 0, "theta is ", theta);
  for (std::size_t i = 0; i < positions.size(); ++i) require(positions[i] >= 0, "positions[", i, "] is ", positions[i]);
  Forward forward(x->context());
  const float* values = forward.dense(x);
  Share<Tensor> out = forward.output(x->shape());
  backends::RopeArgs arguments{values, positions.data(), theta, rows, heads, width, false, {out->data(), false}, nullptr};
  arguments.scratch = forward.scratch(forward.table().rope.scratch_bytes(arguments));
  forward.run(forward.table().rope, arguments);
  if (wanted(tape, {x.get()})) {
    auto record = std::make_unique<RopeRecord>();
    record->positions.assign(positions.begin(), positions.end());
    record->theta = theta;
    record->rows = rows;
    record->heads = heads;
    record->width = width;
    tape->append(std::move(record), *out, {x.get()});
  }
  return out;
}

Share<Tensor> attention(Tape* tape, const Share<Tensor>& q, const Share<Tensor>& k, const Share<Tensor>& v, Ids starts, bool causal) {
  require_rank(q, "q", 3);
  require_rank(k, "k", 3);
  const std::int64_t rows = q->shape()[0], heads = q->shape()[1], kv_heads = k->shape()[1], width = q->shape()[2];
  require(k->shape() == v->shape(), "k has shape ", k->shape().text(), ", v ", v->shape().text());
  require(k->shape()[0] == rows && k->shape()[2] == width, "q has shape ", q->shape().text(), ", k ", k->shape().text());
  require(kv_heads > 0 && heads > 0 && heads % kv_heads == 0, "q has ", heads, " heads, no multiple of k's ", kv_heads);
  require(width > 0, "q has heads of width 0");
  check_starts(starts, rows);
  Forward forward(q->context());
  const float *q_data = forward.dense(q), *k_data = forward.dense(k), *v_data = forward.dense(v);
  Share<Tensor> out = forward.output(q->shape());
  Share<Tensor> statistics = forward.output({rows, heads, 2});
  forward.run(forward.table().attention,
              {q_data, k_data, v_data, starts.data(), static_cast<std::int64_t>(starts.size()), causal, rows, heads, kv_heads, width,
               out->data(), statistics->data()});
  if (wanted(tape, {q.get(), k.get(), v.get()})) {
    auto record = std::make_unique<AttentionRecord>();
    record->kept = {q, k, v, out, statistics};
    record->starts.assign(starts.begin(), starts.end());
    record->causal = causal;
    record->rows = rows;
    record->heads = heads;
    record->kv_heads = kv_heads;
    record->width = width;
    tape->append(std::move(record), *out, {q.get(), k.get(), v.get()});
  }
  return out;
}

}  // namespace hexapla::ops
