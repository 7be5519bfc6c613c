// OpenBLAS behind blas.hpp: the scipy-openblas32 wheel (its symbols carry a prefix) or a system's OpenBLAS.
#include "backends/cpu/blas.hpp"

#include <algorithm>
#include <string>

#include <cblas.h>

#if defined(HXP_BLAS_SCIPY)
#define HXP_BLAS(name) scipy_##name
#else
#define HXP_BLAS(name) name
#endif

namespace hexapla::backends::cpu {

namespace {

// OpenBLAS keeps its thread count per process; it is set before the first product of this library.
void use_one_thread() {
  static const bool done = [] {
    HXP_BLAS(openblas_set_num_threads)(1);
    return true;
  }();
  (void)done;
}

// A BLAS sums all k products of an element one after the other; pieces of this many, added up, halve the error of a long sum.
constexpr Index piece = 128;

}  // namespace

void multiply(bool transpose_a, bool transpose_b, Index m, Index n, Index k, float alpha, const float* a, Index lda, const float* b,
              Index ldb, float beta, float* c, Index ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (Index row = 0; row < m; ++row)
      for (Index column = 0; column < n; ++column) c[row * ldc + column] = beta == 0 ? 0.0f : beta * c[row * ldc + column];
    return;
  }
  use_one_thread();
  for (Index first = 0; first < k; first += piece) {
    HXP_BLAS(cblas_sgemm)
    (CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, static_cast<int>(m),
     static_cast<int>(n), static_cast<int>(std::min(piece, k - first)), alpha, a + first * (transpose_a ? lda : 1),
     static_cast<int>(lda), b + first * (transpose_b ? 1 : ldb), static_cast<int>(ldb), first == 0 ? beta : 1.0f, c,
     static_cast<int>(ldc));
  }
}

const char* blas_description() {
  static const std::string text = [] {
    use_one_thread();
    std::string config = HXP_BLAS(openblas_get_config)();
    while (!config.empty() && config.back() == ' ') config.pop_back();
    return config + ", kernel " + HXP_BLAS(openblas_get_corename)();
  }();
  return text.c_str();
}

}  // namespace hexapla::backends::cpu
