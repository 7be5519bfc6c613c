// See dtype.hpp.
#include "formats/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime/faults.hpp"

namespace hexapla {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian and is copied as it stands");

// subnormals_flushed: what has no exponent in f32 becomes zero.
void flush(float* values, std::size_t elements) noexcept {
  for (std::size_t i = 0; i < elements; ++i)
    if (std::fpclassify(values[i]) == FP_SUBNORMAL && faulty(Fault::subnormals_flushed)) values[i] = std::copysign(0.0f, values[i]);
}

void widen_f32(const std::byte* stored, std::size_t elements, float* out) noexcept {
  std::memcpy(out, stored, elements * sizeof(float));
  if (has_faults) flush(out, elements);
}

template <class Convert>
void widen_16(const std::byte* stored, std::size_t elements, float* out, Convert convert) noexcept {
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint16_t half;
    std::memcpy(&half, stored + 2 * i, sizeof half);
    const std::uint32_t bits = convert(half);
    std::memcpy(out + i, &bits, sizeof bits);
  }
  if (has_faults) flush(out, elements);
}

std::uint32_t bits_of_f16(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000U) << 16, exponent = half >> 10 & 0x1FU, fraction = half & 0x3FFU;
  if (exponent == 31) return sign | 0x7F800000U | fraction << 13;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  if (fraction == 0) return sign;
  // A subnormal of f16 is a normal of f32: its leading one moves up to the hidden place.
  const auto shift = static_cast<std::uint32_t>(std::countl_zero(fraction)) - 21;
  return sign | (113 - shift) << 23 | (fraction << shift & 0x3FFU) << 13;
}

void widen_bf16(const std::byte* stored, std::size_t elements, float* out) noexcept {
  widen_16(stored, elements, out, [](std::uint16_t half) { return std::uint32_t{half} << 16; });
}

void widen_f16(const std::byte* stored, std::size_t elements, float* out) noexcept {
  if (faulty(Fault::f16_as_bf16)) return widen_bf16(stored, elements, out);
  widen_16(stored, elements, out, bits_of_f16);
}

constexpr std::array<Dtype, 22> known{{
    {"F32", 32, widen_f32},
    {"F16", 16, widen_f16},
    {"BF16", 16, widen_bf16},
    {"F64", 64, nullptr},
    {"C64", 64, nullptr},
    {"I64", 64, nullptr},
    {"U64", 64, nullptr},
    {"I32", 32, nullptr},
    {"U32", 32, nullptr},
    {"I16", 16, nullptr},
    {"U16", 16, nullptr},
    {"I8", 8, nullptr},
    {"U8", 8, nullptr},
    {"BOOL", 8, nullptr},
    {"F8_E4M3", 8, nullptr},
    {"F8_E5M2", 8, nullptr},
    {"F8_E8M0", 8, nullptr},
    {"F8_E4M3FNUZ", 8, nullptr},
    {"F8_E5M2FNUZ", 8, nullptr},
    {"F6_E2M3", 6, nullptr},
    {"F6_E3M2", 6, nullptr},
    {"F4", 4, nullptr},
}};

}  // namespace

const Dtype* find_dtype(std::string_view name) noexcept {
  const auto found = std::find_if(known.begin(), known.end(), [&](const Dtype& dtype) { return dtype.name == name; });
  return found == known.end() ? nullptr : &*found;
}

}  // namespace hexapla
