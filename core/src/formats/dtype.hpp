// Element types as safetensors names them, and the widening of the stored float types to f32. Separate because header checks need the
// sizes and reading needs the arithmetic. Widening is exact: subnormals and the bits of a NaN are kept, and no float operation is used.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace hexapla {

struct Dtype {
  std::string_view name;
  unsigned bits;
  /// Stored elements to f32; nullptr where this core does not read the type.
  void (*widen)(const std::byte* stored, std::size_t elements, float* out) noexcept;
};

/// nullptr for a name that safetensors does not know.
const Dtype* find_dtype(std::string_view name) noexcept;

}  // namespace hexapla
