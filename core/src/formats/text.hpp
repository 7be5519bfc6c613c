// UTF-8, one character at a time, and foreign text made fit for an error line. Separate because the JSON reader, the tokenizer and the
// writer all need it. It knows no Unicode property: unicode.hpp does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hexapla {

struct Decoded {
  char32_t point;
  unsigned bytes;  // 0: the bytes there are not UTF-8
};

/// The character at `at` < text.size(). Overlong forms, surrogates and points past U+10FFFF are not UTF-8.
inline Decoded decode_utf8(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const auto follows = [&](std::size_t index) { return index < text.size() && (byte(index) & 0xC0) == 0x80; };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4 || !follows(at + 1)) return {0, 0};
  const char32_t second = byte(at + 1) & 0x3F;
  if (lead < 0xE0) return {(lead & 0x1FU) << 6 | second, 2};
  if (!follows(at + 2)) return {0, 0};
  const char32_t third = byte(at + 2) & 0x3F;
  if (lead < 0xF0) {
    const char32_t point = (lead & 0x0FU) << 12 | second << 6 | third;
    return point < 0x800 || (point >= 0xD800 && point < 0xE000) ? Decoded{0, 0} : Decoded{point, 3};
  }
  if (!follows(at + 3)) return {0, 0};
  const char32_t point = (lead & 0x07U) << 18 | second << 12 | third << 6 | (byte(at + 3) & 0x3F);
  return point < 0x10000 || point > 0x10FFFF ? Decoded{0, 0} : Decoded{point, 4};
}

/// Append a character; point is a Unicode scalar value.
void append_utf8(std::string& out, char32_t point);

/// The index of the first byte that is not UTF-8; text.size() when all of it is.
std::size_t first_invalid_utf8(std::string_view text) noexcept;

/// Text from a file or a caller for an error line: in quotes, at most some 80 bytes, control characters and broken bytes as \xNN.
std::string quoted(std::string_view text);

}  // namespace hexapla
