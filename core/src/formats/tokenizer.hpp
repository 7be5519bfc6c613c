// A tokenizer.json of byte-level BPE. Separate from reading that file (tokenizer_file.cpp): this is what is left of it and how it encodes.
// Immutable, so any number of threads may encode at once. Added tokens are listed but never looked for in a text (SPEC "Rendering").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/bpe.hpp"
#include "formats/split.hpp"
#include "runtime/object.hpp"

namespace hexapla {

struct AddedToken {
  std::string text;
  std::int32_t id;
  bool special;
};

/// Token texts as raw bytes, with their ids.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
using Vocabulary = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

class Tokenizer final : public Object {
 public:
  static constexpr Kind kind = Kind::tokenizer;

  struct Parts {
    bool nfc;
    Splitter splitter;
    Bpe bpe;
    Vocabulary whole_pieces;  // `ignore_merges`: pieces that are a token as they stand; else empty
    std::vector<AddedToken> added;  // in the file's order, texts distinct
  };
  explicit Tokenizer(Parts parts);

  /// E(text). Throws HXP_INVALID_ARGUMENT for bytes that are not UTF-8 and for more than 2^30 of them.
  std::vector<std::int32_t> encode(std::string_view text) const;

  const std::vector<AddedToken>& added() const noexcept { return parts_.added; }
  /// By its text. Throws HXP_NOT_FOUND.
  const AddedToken& find_added(std::string_view text) const;

 private:
  ~Tokenizer() override = default;
  const Parts parts_;
};

/// Read a folder's tokenizer.json. Throws HXP_IO, HXP_FORMAT, HXP_UNSUPPORTED.
Share<Tokenizer> open_tokenizer(const std::string& folder);

/// The same from the file's text; name stands before every refusal.
Share<Tokenizer> parse_tokenizer(const std::string& text, const std::string& name);

}  // namespace hexapla
