// embedding: rows of a table, and rows added back in the order of the ids.
#include "backends/cpu/entries.hpp"
#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

void embedding(Queue& queue, const EmbeddingArgs& args) {
  for_blocks(queue, args.count, row_block(args.count, args.width), [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      const float* row = args.table + args.ids[i] * args.width;
      std::copy(row, row + args.width, args.out + i * args.width);
    }
  });
}

void embedding_backward(Queue& queue, const EmbeddingBackwardArgs& args) {
  if (!args.table.accumulate) fill(queue, {args.table.data, args.vocabulary * args.width, 0.0f});
  // Cut by columns: each worker adds all rows in order, so that equal ids meet in the order of recording.
  for_blocks(queue, args.width, even_block(args.width, 64, 16), [&](Index first, Index last) {
    for (Index i = 0; i < args.count; ++i) {
      float* to = args.table.data + args.ids[i] * args.width;
      const float* from = args.incoming + i * args.width;
      for (Index column = first; column < last; ++column) to[column] += from[column];
    }
  });
}

}  // namespace hexapla::backends::cpu
