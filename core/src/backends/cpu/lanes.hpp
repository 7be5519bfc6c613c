// Vector lanes and the few functions over them. Sixteen f32 (or eight f64) lanes on every processor: the compiler maps them to what the
// target has, and since nothing is contracted or reassociated, the bits are the same on all of them. Plain elementwise loops stay
// plain C++; lanes are for reductions, whose order must be written down, and for exp.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/table.hpp"

// Functions marked so are compiled for several instruction sets and picked at load. Sanitizers cannot stand the loader's choice, and clang
// refuses lanes returned by inlined helpers of a narrower target: there the baseline computes the same bits, slower.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(HXP_NO_CLONES)
#define HXP_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HXP_CLONES
#endif
#define HXP_INLINE __attribute__((always_inline)) inline

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"  // lanes never cross a call that is not inlined
#endif

namespace hexapla::backends::cpu {

using Lanes = float __attribute__((vector_size(64)));
using IntLanes = std::int32_t __attribute__((vector_size(64)));
using HalfLanes = float __attribute__((vector_size(32)));
using WideLanes = double __attribute__((vector_size(64)));

constexpr Index lane_count = 16;
constexpr Index wide_count = 8;

HXP_INLINE Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// The first `count` (< 16) values, the rest `rest`.
HXP_INLINE Lanes load_part(const float* from, Index count, float rest) {
  float values[lane_count];
  for (Index i = 0; i < lane_count; ++i) values[i] = i < count ? from[i] : rest;
  return load(values);
}

HXP_INLINE void store(float* to, const Lanes& lanes) { std::memcpy(to, &lanes, sizeof lanes); }

HXP_INLINE void store_part(float* to, const Lanes& lanes, Index count) {
  std::memcpy(to, &lanes, static_cast<std::size_t>(count) * sizeof(float));
}

// Eight values widened to f64.
HXP_INLINE WideLanes load_wide(const float* from) {
  HalfLanes half;
  std::memcpy(&half, from, sizeof half);
  return __builtin_convertvector(half, WideLanes);
}

HXP_INLINE Lanes all(float value) { return Lanes{} + value; }

HXP_INLINE double sum(const WideLanes& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

HXP_INLINE double sum(const Lanes& lanes) {
  double total = 0;
  for (Index i = 0; i < lane_count; ++i) total += static_cast<double>(lanes[i]);
  return total;
}

HXP_INLINE float largest(const Lanes& lanes) {
  float best = lanes[0];
  for (Index i = 1; i < lane_count; ++i) best = lanes[i] > best ? lanes[i] : best;
  return best;
}

// e^x within one ulp: Cody and Waite's reduction by ln 2 in two parts (the product with the first is exact), then the polynomial of
// Cephes' expf; the power of two is applied in two factors so that results reach from infinity down to subnormals and 0.
HXP_INLINE Lanes exponential(const Lanes& argument) {
  Lanes x = argument < -110.0f ? all(-110.0f) : argument;
  x = x > 89.0f ? all(89.0f) : x;
  const float round_to_integer = 12582912.0f;  // 1.5 · 2^23
  const Lanes shifted = x * 1.44269504088896341f + round_to_integer;
  const Lanes n = shifted - round_to_integer;
  const Lanes r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Lanes p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Lanes bias = all(round_to_integer);
  IntLanes power, zero;
  std::memcpy(&power, &shifted, sizeof power);
  std::memcpy(&zero, &bias, sizeof zero);
  power -= zero;
  const IntLanes half = power >> 1;
  const IntLanes low = (half + 127) << 23;
  const IntLanes high = (power - half + 127) << 23;
  Lanes low_factor, high_factor;
  std::memcpy(&low_factor, &low, sizeof low_factor);
  std::memcpy(&high_factor, &high, sizeof high_factor);
  return p * low_factor * high_factor;
}

}  // namespace hexapla::backends::cpu
