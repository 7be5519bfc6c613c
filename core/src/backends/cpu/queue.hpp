// What a cpu entry runs on: the team of one context's workers, for the length of one hand-over. Also the one rule of how work is cut:
// by shape, never by the number of workers, so that results do not depend on it.
#pragma once

#include <algorithm>

#include "backends/table.hpp"
#include "runtime/workers.hpp"

namespace hexapla::backends::cpu {

struct TeamQueue : Queue {
  explicit TeamQueue(Team& with) : team(with) {}
  Team& team;
};

// Runs f(first, last) over [0, count) in blocks of `block`.
template <class Function> void for_blocks(Queue& queue, Index count, Index block, Function&& f) {
  if (count <= 0) return;
  const Index blocks = (count + block - 1) / block;
  if (blocks == 1) {
    f(Index{0}, count);
    return;
  }
  static_cast<TeamQueue &>(queue).team.parallel(
      static_cast<std::size_t>(blocks), [&](std::size_t tile_number, unsigned) {
        const Index tile = static_cast<Index>(tile_number);
        f(tile * block, std::min(count, (tile + 1) * block)); });
}

// A block size that cuts `count` into an even number of blocks of about `wanted` each (one block when it fits), a multiple of `grain`.
inline Index even_block(Index count, Index wanted, Index grain = 1) {
  wanted = std::max<Index>(wanted, 1);
  if (count <= wanted) return std::max<Index>(count, 1);
  Index blocks = (count + wanted - 1) / wanted;
  blocks += blocks % 2;
  const Index block = (count + blocks - 1) / blocks;
  return (block + grain - 1) / grain * grain;
}

// Elements that one elementwise tile handles: enough to pay for the tile, few enough that two workers share a small tensor.
inline Index element_block(Index count) { return even_block(count, 16384, 64); }

// Rows of a row-wise tile.
inline Index row_block(Index rows, Index width) { return even_block(rows, 16384 / std::max<Index>(width, 1) + 1); }

}  // namespace hexapla::backends::cpu
