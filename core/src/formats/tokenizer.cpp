// See tokenizer.hpp.
#include "formats/tokenizer.hpp"

#include <algorithm>
#include <utility>

#include "formats/text.hpp"
#include "formats/unicode.hpp"
#include "runtime/error.hpp"
#include "runtime/faults.hpp"

namespace hexapla {
namespace {

// NFC at most triples a text's bytes, and BPE counts the bytes of a piece in 32 bits.
constexpr std::size_t text_bytes_max = std::size_t{1} << 30;

}  // namespace

Tokenizer::Tokenizer(Parts parts) : Object(kind), parts_(std::move(parts)) {}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  require(text.size() <= text_bytes_max, "the text has ", text.size(), " bytes, a tokenizer takes at most ", text_bytes_max);
  const std::size_t invalid = first_invalid_utf8(text);
  require(invalid == text.size(), "the text is not UTF-8 at byte ", invalid);
  std::string buffer;
  const std::string_view normal = parts_.nfc && !faulty(Fault::no_nfc) ? unicode::nfc(text, buffer) : text;
  std::vector<std::int32_t> ids;
  ids.reserve(normal.size() / 3);
  Bpe::Scratch scratch;
  for (std::size_t at = 0; at < normal.size();) {
    const std::size_t end = parts_.splitter.piece_end(normal, at);
    const std::string_view piece = normal.substr(at, end - at);
    const auto whole = parts_.whole_pieces.find(piece);
    if (whole != parts_.whole_pieces.end()) {
      ids.push_back(whole->second);
    } else {
      parts_.bpe.encode(piece, ids, scratch);
    }
    at = end;
  }
  return ids;
}

const AddedToken& Tokenizer::find_added(std::string_view text) const {
  const auto found = std::find_if(parts_.added.begin(), parts_.added.end(), [&](const AddedToken& token) { return token.text == text; });
  if (found == parts_.added.end()) fail(HXP_NOT_FOUND, "no added token ", quoted(text), " among ", parts_.added.size());
  return *found;
}

}  // namespace hexapla
