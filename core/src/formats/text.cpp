// See text.hpp.
#include "formats/text.hpp"

namespace hexapla {

void append_utf8(std::string& out, char32_t point) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::size_t first_invalid_utf8(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const unsigned bytes = decode_utf8(text, at).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return at;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kept_bytes = 80;
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "'";
  std::size_t at = 0;
  while (at < text.size() && at < kept_bytes) {
    const Decoded character = decode_utf8(text, at);
    if (character.bytes == 0 || character.point < 0x20 || (character.point >= 0x7F && character.point < 0xA0)) {
      const auto byte = static_cast<unsigned char>(text[at]);
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
      at += 1;
    } else {
      out += text.substr(at, character.bytes);
      at += character.bytes;
    }
  }
  return out + (at < text.size() ? "…'" : "'");
}

}  // namespace hexapla
