// Reads tokenizer.json: what it may hold, what each part becomes, and which files are refused. Separate from encoding. A part that would
// change ids and is not done here is refused by name (HXP_UNSUPPORTED), never passed over; post-processor, decoder, truncation and padding
// are passed over, since E(text) has none of them.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "formats/file.hpp"
#include "formats/json.hpp"
#include "formats/text.hpp"
#include "formats/tokenizer.hpp"
#include "formats/unicode.hpp"
#include "runtime/error.hpp"

namespace hexapla {
namespace {

using json::Members;
using json::Type;
using json::Value;

constexpr std::uint64_t file_bytes_max = std::uint64_t{1} << 30;

/// Reads one file's parts; every refusal begins with the file's name.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Share<Tokenizer> read(Value root);

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(HXP_FORMAT, name_, ": ", parts...);
  }
  template <class... Parts>
  [[noreturn]] void unsupported(const Parts&... parts) const {
    fail(HXP_UNSUPPORTED, name_, ": ", parts...);
  }

  Value get(const Members& object, std::string_view key, Type type, std::string_view where) const;
  bool flag(const Members& object, std::string_view key, bool otherwise, std::string_view where) const;
  std::int32_t id_of(Value value, std::string_view what) const;

  bool normalizer(Value value) const;
  Splitter pre_tokenizer(Value value) const;
  Splitter byte_level(Value value, std::optional<Splitter> split) const;
  Splitter split(Value value) const;
  std::vector<AddedToken> added_tokens(Value value) const;

  void check_model(const Members& model) const;
  void read_vocabulary(Value value);
  std::array<std::int32_t, 256> byte_ids() const;
  Bpe read_merges(Value value) const;
  std::pair<std::string_view, std::string_view> merge_pair(Value value, std::array<std::string, 2>& buffers) const;
  Vocabulary whole_pieces() const;

  const std::string& name_;
  Vocabulary vocabulary_;  // texts as the file spells them: one character of byte_characters() a byte
};

/// The characters that stand for bytes in a vocabulary: printable Latin-1 for itself, the other bytes from U+0100 on.
std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    characters[byte] = printable ? byte : next++;
  }
  return characters;
}

Value Reader::get(const Members& object, std::string_view key, Type type, std::string_view where) const {
  const std::optional<Value> value = json::find(object, key);
  if (!value) refuse(where, " has no \"", key, "\"");
  if (value->type() != type) refuse(where, ": \"", key, "\" is ", json::type_name(value->type()), ", not ", json::type_name(type));
  return *value;
}

bool Reader::flag(const Members& object, std::string_view key, bool otherwise, std::string_view where) const {
  const std::optional<Value> value = json::find(object, key);
  if (!value) return otherwise;
  if (value->type() != Type::boolean) refuse(where, ": \"", key, "\" is ", json::type_name(value->type()), ", not a boolean");
  return value->boolean();
}

std::int32_t Reader::id_of(Value value, std::string_view what) const {
  const std::optional<std::int64_t> id = value.type() == Type::number ? value.integer() : std::nullopt;
  if (!id || *id < 0 || *id > std::numeric_limits<std::int32_t>::max()) {
    refuse("the id of ", quoted(what), " is ", quoted(value.written()), ", not an integer from 0 to 2147483647");
  }
  return static_cast<std::int32_t>(*id);
}

/// Whether texts become NFC.
bool Reader::normalizer(Value value) const {
  if (value.type() == Type::null) return false;
  if (value.type() != Type::object) refuse("\"normalizer\" is ", json::type_name(value.type()));
  const Members members = value.members();
  const Value type = get(members, "type", Type::string, "\"normalizer\"");
  if (type.is("NFC")) return true;
  if (!type.is("Sequence")) unsupported("the normalizer ", quoted(type.text()), " is not NFC");
  bool nfc = false;
  get(members, "normalizers", Type::array, "\"normalizer\"").each_item([&](Value part) { nfc |= normalizer(part); });
  return nfc;
}

Splitter Reader::pre_tokenizer(Value value) const {
  if (value.type() != Type::object) unsupported("there is no pre_tokenizer; byte-level BPE needs ByteLevel");
  const Members members = value.members();
  const Value type = get(members, "type", Type::string, "\"pre_tokenizer\"");
  if (!type.is("Sequence")) return byte_level(value, std::nullopt);
  std::vector<Value> parts;
  get(members, "pretokenizers", Type::array, "\"pre_tokenizer\"").each_item([&](Value part) {
    if (part.type() != Type::object) refuse("a part of \"pre_tokenizer\" is ", json::type_name(part.type()));
    parts.push_back(part);
  });
  if (parts.size() == 1) return byte_level(parts[0], std::nullopt);
  if (parts.size() == 2) return byte_level(parts[1], split(parts[0]));
  unsupported("the pre_tokenizer has ", parts.size(), " parts, not Split and ByteLevel");
}

Splitter Reader::byte_level(Value value, std::optional<Splitter> split) const {
  const Members members = value.members();
  const Value type = get(members, "type", Type::string, "a part of \"pre_tokenizer\"");
  if (!type.is("ByteLevel")) unsupported("the pre_tokenizer ", quoted(type.text()), " stands where only ByteLevel is known");
  if (flag(members, "add_prefix_space", true, "ByteLevel")) unsupported("ByteLevel with add_prefix_space");
  const bool own_pattern = flag(members, "use_regex", true, "ByteLevel");
  if (own_pattern && split) unsupported("ByteLevel with use_regex behind a Split");
  if (!own_pattern && !split) unsupported("ByteLevel without use_regex and without a Split");
  return split ? *split : Splitter::gpt2;
}

Splitter Reader::split(Value value) const {
  const Members members = value.members();
  const Value type = get(members, "type", Type::string, "a part of \"pre_tokenizer\"");
  if (!type.is("Split")) unsupported("the pre_tokenizer ", quoted(type.text()), " stands where only Split is known");
  const Value behaviour = get(members, "behavior", Type::string, "Split");
  if (!behaviour.is("Isolated")) unsupported("Split with behavior ", quoted(behaviour.text()), ", not Isolated");
  if (flag(members, "invert", false, "Split")) unsupported("Split with invert");
  const Value pattern = get(members, "pattern", Type::object, "Split");
  const std::optional<Value> regex = json::find(pattern.members(), "Regex");
  if (!regex || regex->type() != Type::string) unsupported("Split by ", quoted(pattern.written()), ", not by a Regex");
  const std::optional<Splitter> splitter = Splitter::for_pattern(regex->text());
  if (!splitter) unsupported("the split pattern ", quoted(regex->text()), " is none of Qwen2 and 3's, Llama 3's and GPT-2's");
  return *splitter;
}

std::vector<AddedToken> Reader::added_tokens(Value value) const {
  std::vector<AddedToken> added;
  value.each_item([&](Value item) {
    if (item.type() != Type::object) refuse("an added token is ", json::type_name(item.type()), ", not an object");
    const Members token = item.members();
    std::string text = get(token, "content", Type::string, "an added token").text();
    if (text.empty() || text.find('\0') != std::string::npos) refuse("an added token's text is empty or holds U+0000");
    const std::int32_t id = id_of(get(token, "id", Type::number, "an added token"), text);
    const auto known = vocabulary_.find(text);
    if (known != vocabulary_.end() && known->second != id) {
      refuse("the added token ", quoted(text), " has id ", id, ", and ", known->second, " in the vocabulary");
    }
    added.push_back({std::move(text), id, flag(token, "special", false, "an added token")});
  });
  std::vector<std::string_view> texts;
  for (const AddedToken& token : added) texts.push_back(token.text);
  std::sort(texts.begin(), texts.end());
  const auto twin = std::adjacent_find(texts.begin(), texts.end());
  if (twin != texts.end()) refuse("the added token ", quoted(*twin), " stands twice");
  return added;
}

/// What would change ids and is not done. `unk_token` and `byte_fallback` change nothing, since every byte has a token.
void Reader::check_model(const Members& model) const {
  const std::optional<Value> type = json::find(model, "type");
  if (type && !type->is("BPE")) unsupported("the model ", quoted(type->written()), " is not BPE");
  const std::optional<Value> dropout = json::find(model, "dropout");
  if (dropout && dropout->type() != Type::null && dropout->integer() != 0 && dropout->written() != "0.0") {
    unsupported("BPE with dropout ", quoted(dropout->written()));
  }
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::optional<Value> affix = json::find(model, key);
    if (affix && affix->type() != Type::null && !affix->is("")) unsupported("BPE with ", key, " ", quoted(affix->written()));
  }
}

void Reader::read_vocabulary(Value value) {
  std::vector<std::int32_t> ids;
  value.each_member([&](std::string_view token, Value id) {
    ids.push_back(id_of(id, token));
    vocabulary_.emplace(token, ids.back());
  });
  std::sort(ids.begin(), ids.end());
  const auto twin = std::adjacent_find(ids.begin(), ids.end());
  if (twin != ids.end()) refuse("two tokens of the vocabulary have the id ", *twin);
}

std::array<std::int32_t, 256> Reader::byte_ids() const {
  std::array<std::int32_t, 256> ids{};
  const std::array<char32_t, 256> characters = byte_characters();
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(token, characters[byte]);
    const auto found = vocabulary_.find(token);
    if (found == vocabulary_.end()) unsupported("the vocabulary has no token ", quoted(token), " for byte ", byte);
    ids[byte] = found->second;
  }
  return ids;
}

/// A merge is written ["a", "b"] or, in older files, "a b".
std::pair<std::string_view, std::string_view> Reader::merge_pair(Value value, std::array<std::string, 2>& buffers) const {
  if (value.type() == Type::string) {
    const std::string_view text = value.text(buffers[0]);
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  } else if (value.type() == Type::array) {
    std::array<std::string_view, 2> parts;
    std::size_t count = 0;
    value.each_item([&](Value item) {
      if (count < 2 && item.type() == Type::string) parts[count] = item.text(buffers[count]);
      count += item.type() == Type::string ? 1 : 3;
    });
    if (count == 2) return {parts[0], parts[1]};
  }
  refuse("the merge ", quoted(value.written()), " is not two tokens");
}

Bpe Reader::read_merges(Value value) const {
  std::size_t count = 0;
  value.each_item([&](Value) { ++count; });
  Bpe bpe(byte_ids(), count);
  std::uint32_t rank = 0;
  std::array<std::string, 2> buffers;
  std::string whole;
  value.each_item([&](Value item) {
    const auto [left, right] = merge_pair(item, buffers);
    whole.assign(left).append(right);
    const auto left_id = vocabulary_.find(left), right_id = vocabulary_.find(right), whole_id = vocabulary_.find(whole);
    for (const auto& [id, token] : {std::pair(left_id, left), std::pair(right_id, right), std::pair(whole_id, std::string_view(whole))}) {
      if (id == vocabulary_.end()) refuse("merge ", rank, " names ", quoted(token), ", which the vocabulary has not");
    }
    if (!bpe.add_merge(left_id->second, right_id->second, {rank, whole_id->second})) {
      refuse("merge ", rank, ", ", quoted(left), " and ", quoted(right), ", stands twice");
    }
    ++rank;
  });
  return bpe;
}

/// The vocabulary by raw bytes. A token that does not spell bytes (as an added token may) can be no piece.
Vocabulary Reader::whole_pieces() const {
  std::unordered_map<char32_t, char> bytes;
  const std::array<char32_t, 256> characters = byte_characters();
  for (std::size_t byte = 0; byte < 256; ++byte) bytes.emplace(characters[byte], static_cast<char>(byte));
  Vocabulary pieces;
  for (const auto& [token, id] : vocabulary_) {
    std::string piece;
    std::size_t at = 0;
    while (at < token.size()) {
      const Decoded character = decode_utf8(token, at);
      const auto byte = bytes.find(character.point);
      if (byte == bytes.end()) break;
      piece += byte->second;
      at += character.bytes;
    }
    if (at == token.size()) pieces.emplace(std::move(piece), id);
  }
  return pieces;
}

Share<Tokenizer> Reader::read(Value root) {
  if (root.type() != Type::object) refuse("the file is ", json::type_name(root.type()), ", not an object");
  const Members file = root.members();
  const Members model = get(file, "model", Type::object, "the file").members();
  check_model(model);
  const std::optional<Value> before = json::find(file, "normalizer"), cut = json::find(file, "pre_tokenizer"),
                             added = json::find(file, "added_tokens");
  if (added && added->type() != Type::array) refuse("\"added_tokens\" is ", json::type_name(added->type()), ", not an array");
  if (!cut) unsupported("there is no pre_tokenizer; byte-level BPE needs ByteLevel");
  const bool nfc = before && normalizer(*before);
  const Splitter splitter = pre_tokenizer(*cut);
  read_vocabulary(get(model, "vocab", Type::object, "\"model\""));
  Bpe bpe = read_merges(get(model, "merges", Type::array, "\"model\""));
  Vocabulary whole = flag(model, "ignore_merges", false, "\"model\"") ? whole_pieces() : Vocabulary();
  std::vector<AddedToken> tokens = added ? added_tokens(*added) : std::vector<AddedToken>();
  return make<Tokenizer>(Tokenizer::Parts{nfc, splitter, std::move(bpe), std::move(whole), std::move(tokens)});
}

}  // namespace

Share<Tokenizer> parse_tokenizer(const std::string& text, const std::string& name) {
  return Reader(name).read(json::Document(text, name).root());
}

Share<Tokenizer> open_tokenizer(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  return parse_tokenizer(File(path).read_all(file_bytes_max), path);
}

}  // namespace hexapla
