// product: every plain matrix product, forward and backward (linear, matmul), one BLAS call a tile.
#include "backends/cpu/blas.hpp"
#include "backends/cpu/entries.hpp"
#include "backends/cpu/tiles.hpp"

namespace hexapla::backends::cpu {

void product(Queue& queue, const ProductArgs& args) {
  const Index lda = args.transpose_a ? args.m : args.k;
  const Index ldb = args.transpose_b ? args.k : args.n;
  for_tiles(queue, product_tiles(args.m, args.n, args.k), args.m, args.n, [&](Index row, Index rows, Index column, Index columns) {
    const float* a = args.a + row * (args.transpose_a ? 1 : lda);
    const float* b = args.b + column * (args.transpose_b ? ldb : 1);
    multiply(args.transpose_a, args.transpose_b, rows, columns, args.k, 1.0f, a, lda, b, ldb, args.out.accumulate ? 1.0f : 0.0f,
             args.out.data + row * args.n + column, args.n);
  });
}

}  // namespace hexapla::backends::cpu
