// What the tokenizer asks of Unicode: letter, number or white space, and NFC. Separate from the tables, which are made by a script, and
// from the split patterns. The answers are those of the pinned `tokenizers` library, unassigned characters included.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hexapla::unicode {

enum class Class : std::uint8_t { other, letter, number, space };

/// The class of a Unicode scalar value: \p{L}, \p{N}, \s, or none of them.
Class class_of(char32_t point) noexcept;

/// NFC of a text. Returns the text itself if it is NFC already, else a view of `buffer`. text must be UTF-8.
std::string_view nfc(std::string_view text, std::string& buffer);

}  // namespace hexapla::unicode
