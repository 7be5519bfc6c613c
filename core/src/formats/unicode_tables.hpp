// Character classes, decompositions and compositions as tokenizers 0.23.3 has them.
// Made by scripts/unicode/make_tables.py: edit that script, never this file.
#pragma once

#include <array>
#include <cstdint>

namespace hexapla::unicode::tables {

struct Range {
  char32_t first, last;
};

/// A run of characters of one combining class; `order` grows with the class and is not its number.
struct MarkRange {
  char32_t first, last;
  std::uint8_t order;
};

/// A full canonical decomposition, filled up with zeros. Hangul syllables are arithmetic and left out.
struct Decomposition {
  char32_t from;
  std::array<char32_t, 4> to;
};

/// Two characters that NFC makes one of.
struct Composition {
  char32_t first, second, whole;
};

extern const std::array<Range, 677> letters;
extern const std::array<Range, 144> numbers;
extern const std::array<Range, 10> spaces;
extern const std::array<MarkRange, 334> marks;
extern const std::array<Decomposition, 2060> decompositions;
extern const std::array<Composition, 940> compositions;

}  // namespace hexapla::unicode::tables
