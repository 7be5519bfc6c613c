// How a product is cut: into tiles of whole rows where that gives both of two workers enough, else of columns too. Shape alone decides.
#pragma once

#include "backends/cpu/queue.hpp"

namespace hexapla::backends::cpu {

struct Tiles {
  Index rows, columns;  // of one tile
  Index row_blocks, column_blocks;  // of the result

  Index count() const { return row_blocks * column_blocks; }
};

// Tiles for a result (m, n) whose elements cost k multiplications each. A tile has some 8 million of them, for packing and hand-over to
// weigh little, and at most 512 columns, for the packed operand to stay in cache.
inline Tiles product_tiles(Index m, Index n, Index k) {
  constexpr Index wanted = 8 << 20;
  Tiles tiles{};
  tiles.columns = n <= 512 ? std::max<Index>(n, 1) : even_block(n, 256, 16);
  const Index row_cost = std::max<Index>(tiles.columns * k, 1);
  tiles.rows = even_block(m, std::clamp<Index>(wanted / row_cost, 16, 512));
  const Index total = m * n * k;
  if (tiles.rows >= m && n <= 512 && total >= (1 << 18)) {
    // Few rows: two workers share the longer side.
    if (n >= m && n >= 32)
      tiles.columns = even_block(n, (n + 1) / 2, 16);
    else if (m >= 32)
      tiles.rows = even_block(m, (m + 1) / 2, 4);
  }
  tiles.row_blocks = (m + tiles.rows - 1) / tiles.rows;
  tiles.column_blocks = (n + tiles.columns - 1) / tiles.columns;
  return tiles;
}

// Runs f(row, rows, column, columns) for each tile of a result (m, n).
template <class Function> void for_tiles(Queue& queue, const Tiles& tiles, Index m, Index n, Function&& f) {
  if (m == 0 || n == 0) return;
  for_blocks(queue, tiles.count(), 1, [&](Index first, Index last) {
    for (Index tile = first; tile < last; ++tile) {
      const Index row = tile / tiles.column_blocks * tiles.rows;
      const Index column = tile % tiles.column_blocks * tiles.columns;
      f(row, std::min(tiles.rows, m - row), column, std::min(tiles.columns, n - column));
    }
  });
}

}  // namespace hexapla::backends::cpu
