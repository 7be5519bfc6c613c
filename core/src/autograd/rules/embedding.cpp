// embedding: rows of a table; backward adds rows in the order of the ids.
#include <vector>

#include "autograd/forward.hpp"
#include "autograd/operations.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

struct EmbeddingRecord final : Record {
  std::vector<std::int32_t> ids;
  std::int64_t width, vocabulary;

  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.embedding_backward.run(
        queue, {at.incoming, ids.data(), static_cast<std::int64_t>(ids.size()), width, vocabulary, at.inputs[0]});
  }
};

}  // namespace

Share<Tensor> embedding(Tape* tape, const Share<Tensor>& table, Ids ids) {
  require_rank(table, "table", 2);
  const std::int64_t vocabulary = table->shape()[0], width = table->shape()[1];
  for (std::size_t i = 0; i < ids.size(); ++i)
    require(ids[i] >= 0 && ids[i] < vocabulary, "ids[", i, "] is ", ids[i], ", the table has ", vocabulary, " rows");
  const auto count = static_cast<std::int64_t>(ids.size());
  Forward forward(table->context());
  const float* rows = forward.dense(table);
  Share<Tensor> out = forward.output({count, width});
  forward.run(forward.table().embedding, {rows, ids.data(), count, width, out->data()});
  if (wanted(tape, {table.get()})) {
    auto record = std::make_unique<EmbeddingRecord>();
    record->ids.assign(ids.begin(), ids.end());
    record->width = width;
    record->vocabulary = vocabulary;
    tape->append(std::move(record), *out, {table.get()});
  }
  return out;
}

}  // namespace hexapla::ops
