// See unicode.hpp. The tables are spread once into one byte a character, so that most characters need no search.
#include "formats/unicode.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "formats/text.hpp"
#include "formats/unicode_tables.hpp"

namespace hexapla::unicode {
namespace {

using tables::Composition;
using tables::Decomposition;
using tables::MarkRange;

constexpr std::uint8_t class_bits = 3;
constexpr std::uint8_t mark_bit = 4;         // a non-starter
constexpr std::uint8_t decomposes_bit = 8;   // Hangul syllables included
constexpr std::uint8_t may_change_bit = 16;  // NFC may change it, or join it to what stands before

constexpr char32_t hangul_first = 0xAC00, lead_first = 0x1100, vowel_first = 0x1161, tail_before = 0x11A7;
constexpr char32_t leads = 19, vowels = 21, tails = 28, syllables = leads * vowels * tails;

using Traits = std::array<std::uint8_t, 0x110000>;

void spread(Traits& traits, char32_t first, char32_t last, std::uint8_t bits) {
  for (char32_t point = first; point <= last; ++point) traits[point] |= bits;
}

Traits* make_traits() {
  auto* traits = new Traits{};
  for (const auto& run : tables::letters) spread(*traits, run.first, run.last, static_cast<std::uint8_t>(Class::letter));
  for (const auto& run : tables::numbers) spread(*traits, run.first, run.last, static_cast<std::uint8_t>(Class::number));
  for (const auto& run : tables::spaces) spread(*traits, run.first, run.last, static_cast<std::uint8_t>(Class::space));
  for (const auto& run : tables::marks) spread(*traits, run.first, run.last, mark_bit | may_change_bit);
  for (const auto& entry : tables::decompositions) (*traits)[entry.from] |= decomposes_bit | may_change_bit;
  // A character that some pair composes to stays as it is when it stands alone.
  for (const auto& entry : tables::compositions) (*traits)[entry.whole] &= static_cast<std::uint8_t>(~may_change_bit);
  for (const auto& entry : tables::compositions) (*traits)[entry.second] |= may_change_bit;
  spread(*traits, hangul_first, hangul_first + syllables - 1, decomposes_bit);
  spread(*traits, vowel_first, vowel_first + vowels - 1, may_change_bit);
  spread(*traits, tail_before + 1, tail_before + tails - 1, may_change_bit);
  return traits;
}

/// Never destroyed: calls come at process exit too.
const Traits& traits() {
  static const Traits* const made = make_traits();
  return *made;
}

/// The rank of a non-starter's combining class.
std::uint8_t order_of(char32_t mark) {
  const auto behind = std::upper_bound(tables::marks.begin(), tables::marks.end(), mark,
                                       [](char32_t point, const MarkRange& run) { return point < run.first; });
  return std::prev(behind)->order;
}

/// 0 if the two do not compose.
char32_t compose(char32_t first, char32_t second) {
  if (first >= lead_first && first < lead_first + leads && second >= vowel_first && second < vowel_first + vowels) {
    return hangul_first + ((first - lead_first) * vowels + (second - vowel_first)) * tails;
  }
  if (first >= hangul_first && first < hangul_first + syllables && (first - hangul_first) % tails == 0 && second > tail_before &&
      second < tail_before + tails) {
    return first + (second - tail_before);
  }
  const auto pair = std::pair(first, second);
  const auto found = std::lower_bound(tables::compositions.begin(), tables::compositions.end(), pair,
                                      [](const Composition& entry, const auto& key) { return std::pair(entry.first, entry.second) < key; });
  return found != tables::compositions.end() && std::pair(found->first, found->second) == pair ? found->whole : 0;
}

/// A character, its combining class's rank beside it (0: a starter).
struct Ordered {
  char32_t point;
  std::uint8_t order;
};

void append_decomposed(std::vector<Ordered>& out, char32_t point, const Traits& all) {
  const auto append = [&](char32_t part) { out.push_back({part, all[part] & mark_bit ? order_of(part) : std::uint8_t{0}}); };
  if (!(all[point] & decomposes_bit)) {
    append(point);
  } else if (point >= hangul_first && point < hangul_first + syllables) {
    const char32_t index = point - hangul_first;
    append(lead_first + index / (vowels * tails));
    append(vowel_first + index / tails % vowels);
    if (index % tails != 0) append(tail_before + index % tails);
  } else {
    const auto found = std::lower_bound(tables::decompositions.begin(), tables::decompositions.end(), point,
                                        [](const Decomposition& entry, char32_t key) { return entry.from < key; });
    for (const char32_t part : found->to) {
      if (part != 0) append(part);
    }
  }
}

/// Canonical ordering: each run of marks, stably by its class.
void sort_marks(std::vector<Ordered>& text) {
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), [](const Ordered& c) { return c.order != 0; });
    const auto end = std::find_if(begin, text.end(), [](const Ordered& c) { return c.order == 0; });
    std::stable_sort(begin, end, [](const Ordered& a, const Ordered& b) { return a.order < b.order; });
    begin = end;
  }
}

/// Canonical composition, in place. A character joins the last starter unless one of its class or a starter stands between.
void compose_all(std::vector<Ordered>& text) {
  std::size_t kept = 0;
  std::size_t starter = text.size();  // none yet
  std::uint8_t last = 0;              // the class of what was kept last behind the starter
  for (const Ordered character : text) {
    const bool adjacent = starter + 1 == kept;
    if (starter < kept && (adjacent || (last != 0 && last < character.order))) {
      if (const char32_t whole = compose(text[starter].point, character.point)) {
        text[starter].point = whole;
        continue;
      }
    }
    if (character.order == 0) starter = kept;
    last = character.order;
    text[kept++] = character;
  }
  text.resize(kept);
}

}  // namespace

Class class_of(char32_t point) noexcept { return static_cast<Class>(traits()[point] & class_bits); }

std::string_view nfc(std::string_view text, std::string& buffer) {
  const Traits& all = traits();
  bool stays = true;
  for (std::size_t at = 0; stays && at < text.size();) {
    const Decoded character = decode_utf8(text, at);
    stays = !(all[character.point] & may_change_bit);
    at += character.bytes;
  }
  if (stays) return text;
  std::vector<Ordered> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded character = decode_utf8(text, at);
    append_decomposed(characters, character.point, all);
    at += character.bytes;
  }
  sort_marks(characters);
  compose_all(characters);
  buffer.clear();
  for (const Ordered character : characters) append_utf8(buffer, character.point);
  return buffer;
}

}  // namespace hexapla::unicode
