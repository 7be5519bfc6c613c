// libFuzzer entry point for the tokenizer. An input that begins with { is read as a tokenizer.json and, if it passes, encodes itself;
// any other input is a text for a fixed small tokenizer, whose ids must give the text's NFC back. Built as json.cpp is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/json.hpp"
#include "formats/text.hpp"
#include "formats/tokenizer.hpp"
#include "formats/unicode.hpp"
#include "runtime/error.hpp"

using namespace hexapla;

namespace {

/// Every byte a token whose id is the byte, and two merges: ids 256 and 257 stand for "ab" and "abab".
Share<Tokenizer> make_fixed() {
  std::string vocabulary;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    std::string token;
    append_utf8(token, (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD) ? byte : next++);
    json::append_string(vocabulary, token);
    vocabulary += ":" + std::to_string(byte) + ",";
  }
  const std::string file = R"({"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
                           R"("model":{"type":"BPE","merges":[["a","b"],["ab","ab"]],"vocab":{)" +
                           vocabulary + R"("ab":256,"abab":257}}})";
  return parse_tokenizer(file, "fixed");
}

std::string bytes_of(const std::vector<std::int32_t>& ids) {
  std::string text;
  for (const std::int32_t id : ids) text += id == 256 ? "ab" : id == 257 ? "abab" : std::string(1, static_cast<char>(id));
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Share<Tokenizer> fixed = make_fixed();
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (!text.empty() && text[0] == '{') {
      parse_tokenizer(text, "input")->encode(text);
      return 0;
    }
    std::string buffer, again;
    const std::string back = bytes_of(fixed->encode(text));
    const std::string normal(unicode::nfc(text, buffer));
    if (back != normal || unicode::nfc(normal, again) != normal) __builtin_trap();
  } catch (const Error& error) {
    if (error.status != HXP_FORMAT && error.status != HXP_UNSUPPORTED && error.status != HXP_INVALID_ARGUMENT) __builtin_trap();
  }
  return 0;
}
