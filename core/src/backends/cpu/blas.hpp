// The one door to the BLAS. Products run on the calling worker alone: the BLAS's own threads are off, and callers cut products into
// tiles that depend on shape only, since the bits of a row depend on the rows beside it in a call.
#pragma once

#include "backends/table.hpp"

namespace hexapla::backends::cpu {

// c (m, n) = alpha · op(a) op(b) + beta · c, row-major; leading dimensions in elements. k = 0 gives beta · c.
void multiply(bool transpose_a, bool transpose_b, Index m, Index n, Index k, float alpha, const float* a, Index lda, const float* b,
              Index ldb, float beta, float* c, Index ldc);

// Which BLAS this is, and the kernel that it chose for this processor.
const char* blas_description();

}  // namespace hexapla::backends::cpu
