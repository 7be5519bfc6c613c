// lora_linear: x wᵀ + scale · (x aᵀ) bᵀ. The low-rank product is added tile by tile while the tile of the base product is in cache, and
// backward never forms a full-size product of its own: with s = scale · incoming · b, dx = incoming · w + s · a, da = sᵀ x,
// db = scale · incomingᵀ · (x aᵀ).
#include "backends/cpu/blas.hpp"
#include "backends/cpu/entries.hpp"
#include "backends/cpu/tiles.hpp"

namespace hexapla::backends::cpu {

namespace {

// left (rows, rank) where row blocks are whole: computed inside the tile when the tile has all columns, in a pass of its own otherwise.
template <class Low, class Full>
void low_then_full(Queue& queue, const Tiles& tiles, Index rows, Index columns, Low&& low, Full&& full) {
  if (tiles.column_blocks == 1) {
    for_tiles(queue, tiles, rows, columns, [&](Index row, Index count, Index column, Index width) {
      low(row, count);
      full(row, count, column, width);
    });
    return;
  }
  for_blocks(queue, rows, even_block(rows, 128), [&](Index first, Index last) { low(first, last - first); });
  for_tiles(queue, tiles, rows, columns, full);
}

}  // namespace

void lora_linear(Queue& queue, const LoraLinearArgs& args) {
  const float scale = static_cast<float>(args.scale);
  const auto low = [&](Index row, Index rows) {
    multiply(false, true, rows, args.rank, args.in, 1.0f, args.x + row * args.in, args.in, args.a, args.in, 0.0f,
             args.projected + row * args.rank, args.rank);
  };
  const auto full = [&](Index row, Index rows, Index column, Index columns) {
    float* result = args.result + row * args.out + column;
    multiply(false, true, rows, columns, args.in, 1.0f, args.x + row * args.in, args.in, args.w + column * args.in, args.in, 0.0f,
             result, args.out);
    multiply(false, true, rows, columns, args.rank, scale, args.projected + row * args.rank, args.rank, args.b + column * args.rank,
             args.rank, 1.0f, result, args.out);
  };
  low_then_full(queue, product_tiles(args.rows, args.out, args.in), args.rows, args.out, low, full);
}

std::uint64_t lora_linear_backward_scratch(const LoraLinearBackwardArgs& args) {
  return static_cast<std::uint64_t>(args.rows * args.rank) * sizeof(float);
}

void lora_linear_backward(Queue& queue, const LoraLinearBackwardArgs& args) {
  const float scale = static_cast<float>(args.scale);
  float* low_gradient = static_cast<float*>(args.scratch);  // (rows, rank): scale · incoming · b
  const auto low = [&](Index row, Index rows) {
    multiply(false, false, rows, args.rank, args.out, scale, args.incoming + row * args.out, args.out, args.b, args.rank, 0.0f,
             low_gradient + row * args.rank, args.rank);
  };
  const auto full = [&](Index row, Index rows, Index column, Index columns) {
    float* to = args.x_gradient.data + row * args.in + column;
    multiply(false, false, rows, columns, args.out, 1.0f, args.incoming + row * args.out, args.out, args.w + column, args.in,
             args.x_gradient.accumulate ? 1.0f : 0.0f, to, args.in);
    multiply(false, false, rows, columns, args.rank, 1.0f, low_gradient + row * args.rank, args.rank, args.a + column, args.in, 1.0f,
             to, args.in);
  };
  if (args.x_gradient)
    low_then_full(queue, product_tiles(args.rows, args.in, args.out), args.rows, args.in, low, full);
  else if (args.a_gradient)
    for_blocks(queue, args.rows, even_block(args.rows, 128), [&](Index first, Index last) { low(first, last - first); });

  // da (rank, in) by columns and db (out, rank) by rows, in one pass: both sum over all rows.
  const Index a_block = even_block(args.in, std::max<Index>(64, (args.in + 15) / 16), 16);
  const Index b_block = even_block(args.out, std::max<Index>(64, (args.out + 15) / 16), 16);
  const Index a_tiles = args.a_gradient ? (args.in + a_block - 1) / a_block : 0;
  const Index b_tiles = args.b_gradient ? (args.out + b_block - 1) / b_block : 0;
  for_blocks(queue, a_tiles + b_tiles, 1, [&](Index first, Index last) {
    for (Index tile = first; tile < last; ++tile) {
      if (tile < a_tiles) {
        const Index column = tile * a_block;
        multiply(true, false, args.rank, std::min(a_block, args.in - column), args.rows, 1.0f, low_gradient, args.rank,
                 args.x + column, args.in, args.a_gradient.accumulate ? 1.0f : 0.0f, args.a_gradient.data + column, args.in);
      } else {
        const Index row = (tile - a_tiles) * b_block;
        multiply(true, false, std::min(b_block, args.out - row), args.rank, args.rows, scale, args.incoming + row, args.out,
                 args.projected, args.rank, args.b_gradient.accumulate ? 1.0f : 0.0f, args.b_gradient.data + row * args.rank,
                 args.rank);
      }
    }
  });
  if (args.w_gradient) product(queue, {true, false, args.out, args.in, args.rows, args.incoming, args.x, args.w_gradient});
}

}  // namespace hexapla::backends::cpu
