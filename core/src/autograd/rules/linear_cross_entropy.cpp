// linear_cross_entropy: keeps h, w and one f64 log-sum-exp a label; backward recomputes the logits.
#include <vector>

#include "autograd/forward.hpp"
#include "autograd/operations.hpp"

namespace hexapla::ops {

using namespace autograd;

namespace {

struct CrossEntropyRecord final : Record {  // keeps h, w, log_total
  std::vector<std::int32_t> rows, targets;
  std::int64_t h_rows, width, vocabulary;

  backends::CrossEntropyBackwardArgs arguments(const Backward& at) const {
    return {at.incoming, at.kept[0], at.kept[1], rows.data(), targets.data(), reinterpret_cast<const double*>(at.kept[2]),
            static_cast<std::int64_t>(rows.size()), h_rows, width, vocabulary, at.inputs[0], at.inputs[1], at.scratch};
  }
  std::uint64_t scratch_bytes(const backends::Table& table, const Backward& at) const override {
    return table.linear_cross_entropy_backward.scratch_bytes(arguments(at));
  }
  void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const override {
    table.linear_cross_entropy_backward.run(queue, arguments(at));
  }
};

}  // namespace

Share<Tensor> linear_cross_entropy(Tape* tape, const Share<Tensor>& h, const Share<Tensor>& w, Ids rows, Ids targets) {
  require_rank(h, "h", 2);
  require_rank(w, "w", 2);
  const std::int64_t h_rows = h->shape()[0], width = h->shape()[1], vocabulary = w->shape()[0];
  require(w->shape()[1] == width, "h has ", width, " columns, w ", w->shape()[1]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(rows[i] >= 0 && rows[i] < h_rows, "rows[", i, "] is ", rows[i], ", h has ", h_rows, " rows");
    require(targets[i] >= 0 && targets[i] < vocabulary, "targets[", i, "] is ", targets[i], ", w has ", vocabulary, " rows");
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  Forward forward(h->context());
  const float *h_data = forward.dense(h), *w_data = forward.dense(w);
  Share<Tensor> nll = forward.output({count});
  Share<Tensor> log_total = forward.output({count, 2});  // one f64 each
  backends::CrossEntropyArgs arguments{h_data, w_data, rows.data(), targets.data(), count, h_rows, width, vocabulary, nll->data(),
                                       reinterpret_cast<double*>(log_total->data()), nullptr};
  arguments.scratch = forward.scratch(forward.table().linear_cross_entropy.scratch_bytes(arguments));
  forward.run(forward.table().linear_cross_entropy, arguments);
  if (wanted(tape, {h.get(), w.get()})) {
    auto record = std::make_unique<CrossEntropyRecord>();
    record->kept = {h, w, log_total};
    record->rows.assign(rows.begin(), rows.end());
    record->targets.assign(targets.begin(), targets.end());
    record->h_rows = h_rows;
    record->width = width;
    record->vocabulary = vocabulary;
    tape->append(std::move(record), *nll, {h.get(), w.get()});
  }
  return nll;
}

}  // namespace hexapla::ops
