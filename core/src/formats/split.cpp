// See split.hpp. Each function below is one alternative of a pattern, tried in the pattern's order; the alternative stands above it.
#include "formats/split.hpp"

#include "formats/text.hpp"
#include "formats/unicode.hpp"

namespace hexapla {
namespace {

using unicode::Class;

constexpr std::string_view gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Character {
  Class kind;
  unsigned bytes;
};

Character character_at(std::string_view text, std::size_t at) noexcept {
  const Decoded decoded = decode_utf8(text, at);
  return {unicode::class_of(decoded.point), decoded.bytes};
}

bool is_at(std::string_view text, std::size_t at, Class kind) noexcept {
  return at < text.size() && character_at(text, at).kind == kind;
}

/// Behind the run of one class that begins at `at`; `at` itself if none does.
std::size_t run_end(std::string_view text, std::size_t at, Class kind, std::size_t most = static_cast<std::size_t>(-1)) noexcept {
  for (; at < text.size() && most > 0; --most) {
    const Character character = character_at(text, at);
    if (character.kind != kind) break;
    at += character.bytes;
  }
  return at;
}

bool is_newline(char c) noexcept { return c == '\r' || c == '\n'; }

/// 's|'t|'re|'ve|'m|'ll|'d   `at` itself if there is none. With case folded U+017F is an s too, and no other character joins in.
std::size_t contraction_end(std::string_view text, std::size_t at, bool fold) noexcept {
  if (text[at] != '\'') return at;
  const auto letter = [&](std::size_t index) -> char {
    if (index >= text.size()) return '\0';
    const char c = text[index];
    return fold && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
  };
  const char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l')) return at + 3;
  return fold && text.substr(at + 1, 2) == "\u017f" ? at + 3 : at;
}

/// \s+(?!\S)|\s+   A run of white space leaves its last character to what follows, unless it has no other.
std::size_t white_end(std::string_view text, std::size_t at) noexcept {
  std::size_t end = at, last = at;
  while (is_at(text, end, Class::space)) {
    last = end;
    end += character_at(text, end).bytes;
  }
  return end == text.size() || last == at ? end : last;
}

/// \s*[\r\n]+   Up to the last newline of the run; `at` itself if it has none.
std::size_t newline_end(std::string_view text, std::size_t at) noexcept {
  std::size_t behind_newline = at;
  for (std::size_t end = at; is_at(text, end, Class::space); end += character_at(text, end).bytes) {
    if (is_newline(text[end])) behind_newline = end + 1;
  }
  return behind_newline;
}

}  // namespace

const Splitter Splitter::gpt2{Style::gpt2, 0};

std::optional<Splitter> Splitter::for_pattern(std::string_view pattern) noexcept {
  if (pattern == qwen_pattern) return Splitter(Style::qwen, 1);
  if (pattern == llama3_pattern) return Splitter(Style::qwen, 3);
  if (pattern == gpt2_pattern) return gpt2;
  return std::nullopt;
}

std::size_t Splitter::piece_end(std::string_view text, std::size_t at) const noexcept {
  return style_ == Style::gpt2 ? gpt2_end(text, at) : qwen_end(text, at);
}

std::size_t Splitter::gpt2_end(std::string_view text, std::size_t at) const noexcept {
  if (const std::size_t end = contraction_end(text, at, false); end > at) return end;
  // ` ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+`
  const std::size_t behind_space = at + (text[at] == ' ');
  if (behind_space < text.size()) {
    const Class kind = character_at(text, behind_space).kind;
    if (kind != Class::space) return run_end(text, behind_space, kind);
  }
  return white_end(text, at);
}

std::size_t Splitter::qwen_end(std::string_view text, std::size_t at) const noexcept {
  if (const std::size_t end = contraction_end(text, at, true); end > at) return end;
  // `[^\r\n\p{L}\p{N}]?\p{L}+`
  const Character first = character_at(text, at);
  const std::size_t second = at + first.bytes;
  if (first.kind == Class::letter) return run_end(text, at, Class::letter);
  if (first.kind != Class::number && !is_newline(text[at]) && is_at(text, second, Class::letter)) {
    return run_end(text, second, Class::letter);
  }
  if (first.kind == Class::number) return run_end(text, at, Class::number, digits_);
  // ` ?[^\s\p{L}\p{N}]+[\r\n]*`
  const std::size_t begin = text[at] == ' ' ? second : at;
  if (is_at(text, begin, Class::other)) {
    std::size_t end = run_end(text, begin, Class::other);
    while (end < text.size() && is_newline(text[end])) ++end;
    return end;
  }
  if (const std::size_t end = newline_end(text, at); end > at) return end;
  return white_end(text, at);
}

}  // namespace hexapla
