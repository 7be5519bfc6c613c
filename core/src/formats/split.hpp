// Split patterns of byte-level tokenizers: how a text is cut into the pieces that BPE sees one by one. Separate from BPE, which knows
// no characters. There is no regex engine here: a pattern is recognised by its exact text and matched by hand.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace hexapla {

class Splitter {
 public:
  /// The pattern that ByteLevel brings along (`use_regex`): GPT-2's.
  static const Splitter gpt2;

  /// The splitter for a pattern of tokenizer.json: Qwen2 and Qwen3's, Llama 3's, GPT-2's; nullopt for another.
  static std::optional<Splitter> for_pattern(std::string_view pattern) noexcept;

  /// The end of the piece that begins at `at` < text.size(). text must be UTF-8. Every character belongs to a piece.
  std::size_t piece_end(std::string_view text, std::size_t at) const noexcept;

 private:
  enum class Style { gpt2, qwen };
  constexpr Splitter(Style style, unsigned digits) noexcept : style_(style), digits_(digits) {}

  std::size_t gpt2_end(std::string_view text, std::size_t at) const noexcept;
  std::size_t qwen_end(std::string_view text, std::size_t at) const noexcept;

  Style style_;
  unsigned digits_;  // the most that make one piece, where the pattern bounds it
};

}  // namespace hexapla
