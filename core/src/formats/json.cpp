// See json.hpp. The checker comes first; the cursors below rely on everything that it has made sure of.
#include "formats/json.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <deque>
#include <vector>

#include "formats/text.hpp"
#include "runtime/error.hpp"

namespace hexapla::json {
namespace {

constexpr unsigned deepest = 64;

bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// The value of four hexadecimal digits, or -1.
int hex4(std::string_view digits) noexcept {
  if (digits.size() < 4) return -1;
  int value = 0;
  for (const char c : digits.substr(0, 4)) {
    const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// The text of a checked string whose opening quote is at `quote`.
std::string_view unescape(const char* quote, std::string& buffer) {
  const char* at = quote + 1;
  const char* const begin = at;
  while (*at != '"' && *at != '\\') ++at;
  if (*at == '"') return {begin, static_cast<std::size_t>(at - begin)};
  buffer.assign(begin, at);
  while (*at != '"') {
    if (*at != '\\') {
      buffer += *at++;
      continue;
    }
    const char kind = at[1];
    at += 2;
    if (kind == 'u') {
      char32_t point = static_cast<char32_t>(hex4({at, 4}));
      at += 4;
      if (point >= 0xD800 && point < 0xDC00) {
        point = 0x10000 + ((point - 0xD800) << 10) + static_cast<char32_t>(hex4({at + 2, 4}) - 0xDC00);
        at += 6;
      }
      append_utf8(buffer, point);
    } else {
      buffer += kind == 'b' ? '\b' : kind == 'f' ? '\f' : kind == 'n' ? '\n' : kind == 'r' ? '\r' : kind == 't' ? '\t' : kind;
    }
  }
  return buffer;
}

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

class Checker {
 public:
  Checker(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  std::size_t check() {
    space();
    const std::size_t begin = at_;
    value(0);
    space();
    if (at_ < text_.size()) refuse(at_, "text follows the value");
    return begin;
  }

 private:
  /// Keys of the objects that are open, those of the innermost last.
  struct Key {
    std::uint64_t hash;
    std::string_view text;
    bool operator<(const Key& other) const noexcept { return hash != other.hash ? hash < other.hash : text < other.text; }
    bool operator==(const Key& other) const noexcept { return hash == other.hash && text == other.text; }
  };

  [[noreturn]] void refuse(std::size_t at, std::string_view what) const {
    fail(HXP_FORMAT, name_, ": byte ", at, ": ", what);
  }

  char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  void space() noexcept {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  void expect(char c, std::string_view what) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) refuse(at_, at_ >= text_.size() ? "the text ends here" : what);
    ++at_;
  }

  void value(unsigned depth) {
    if (at_ >= text_.size()) refuse(at_, "the text ends where a value should stand");
    switch (text_[at_]) {
      case '{': return object(depth + 1);
      case '[': return array(depth + 1);
      case '"': string(); return;
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) refuse(at_, "no value of JSON");
    at_ += expected.size();
  }

  void digits() {
    if (!is_digit(peek())) refuse(at_, "a digit should stand here");
    while (is_digit(peek())) ++at_;
  }

  void number() {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    if (!is_digit(peek())) refuse(begin, "no value of JSON");
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (is_digit(peek())) refuse(begin, "a number with a leading zero");
    if (peek() == '.') {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
  }

  /// Past a string; whether it holds an escape.
  bool string() {
    const std::size_t begin = at_++;
    bool escaped = false;
    while (true) {
      if (at_ >= text_.size()) refuse(begin, "a string without an end");
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"') break;
      if (byte == '\\') {
        escape();
        escaped = true;
      } else if (byte < 0x20) {
        refuse(at_, "a control character in a string");
      } else if (byte < 0x80) {
        ++at_;
      } else {
        const unsigned bytes = decode_utf8(text_, at_).bytes;
        if (bytes == 0) refuse(at_, "not UTF-8");
        at_ += bytes;
      }
    }
    ++at_;
    return escaped;
  }

  void escape() {
    const std::size_t begin = at_++;
    const char kind = peek();
    if (kind != 'u') {
      if (kind == '\0' || !std::strchr("\"\\/bfnrt", kind)) refuse(begin, "an unknown escape");
      ++at_;
      return;
    }
    const int unit = hex4(text_.substr(at_ + 1));
    if (unit < 0) refuse(begin, "\\u without four hexadecimal digits");
    at_ += 5;
    if (unit < 0xD800 || unit > 0xDFFF) return;
    const bool paired = unit < 0xDC00 && text_.substr(at_, 2) == "\\u";
    const int low = paired ? hex4(text_.substr(at_ + 2)) : -1;
    if (low < 0xDC00 || low > 0xDFFF) refuse(begin, "half of a surrogate pair");
    at_ += 6;
  }

  void array(unsigned depth) {
    if (depth > deepest) refuse(at_, "nested deeper than 64");
    ++at_;
    space();
    if (peek() == ']') {
      ++at_;
      return;
    }
    while (true) {
      value(depth);
      space();
      if (peek() != ',') break;
      ++at_;
      space();
    }
    expect(']', "a comma or ] should stand here");
  }

  void object(unsigned depth) {
    if (depth > deepest) refuse(at_, "nested deeper than 64");
    const std::size_t begin = at_++;
    const std::size_t outer_keys = keys_.size(), outer_decoded = decoded_.size();
    space();
    if (peek() == '}') {
      ++at_;
      return;
    }
    while (true) {
      member(depth);
      space();
      if (peek() != ',') break;
      ++at_;
      space();
    }
    expect('}', "a comma or } should stand here");
    refuse_twins(begin, outer_keys);
    keys_.resize(outer_keys);
    decoded_.resize(outer_decoded);
  }

  void member(unsigned depth) {
    if (peek() != '"') refuse(at_, "a key in quotes should stand here");
    const std::size_t begin = at_;
    std::string_view key;
    if (string()) {
      key = unescape(text_.data() + begin, decoded_.emplace_back());
    } else {
      key = text_.substr(begin + 1, at_ - begin - 2);
    }
    keys_.push_back({hash_of(key), key});
    expect(':', "a colon should stand here");
    space();
    value(depth);
  }

  void refuse_twins(std::size_t begin, std::size_t outer) {
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(outer);
    std::sort(first, keys_.end());
    const auto twin = std::adjacent_find(first, keys_.end());
    if (twin != keys_.end()) refuse(begin, join("the object that begins here has the key ", quoted(twin->text), " twice"));
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  std::vector<Key> keys_;
  std::deque<std::string> decoded_;  // keys that hold escapes; a deque, so that views of them stay
};

}  // namespace

const char* type_name(Type type) noexcept {
  switch (type) {
    case Type::null: return "null";
    case Type::boolean: return "a boolean";
    case Type::number: return "a number";
    case Type::string: return "a string";
    case Type::array: return "an array";
    case Type::object: return "an object";
  }
  return "nothing";
}

Document::Document(const std::string& text, std::string_view name) : root_(text.data() + Checker(text, name).check()) {}

Type Value::type() const noexcept {
  switch (*at_) {
    case '{': return Type::object;
    case '[': return Type::array;
    case '"': return Type::string;
    case 't':
    case 'f': return Type::boolean;
    case 'n': return Type::null;
    default: return Type::number;
  }
}

std::string_view Value::written() const noexcept { return {at_, static_cast<std::size_t>(skip(at_) - at_)}; }

std::optional<std::int64_t> Value::integer() const noexcept {
  const std::string_view digits = written();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string_view Value::text(std::string& buffer) const { return unescape(at_, buffer); }

Members Value::members() const {
  Members members;
  each_member([&](std::string_view name, Value value) { members.emplace(name, value); });
  return members;
}

std::optional<Value> find(const Members& members, std::string_view key) {
  const auto found = members.find(key);
  return found == members.end() ? std::nullopt : std::optional(found->second);
}

const char* Value::skip_space(const char* at) noexcept {
  while (is_space(*at)) ++at;
  return at;
}

const char* Value::skip(const char* at) noexcept {
  unsigned depth = 0;
  do {
    switch (*at) {
      case '{':
      case '[': ++depth, ++at; break;
      case '}':
      case ']': --depth, ++at; break;
      case '"':
        for (++at; *at != '"'; ++at) at += *at == '\\';
        ++at;
        break;
      default:  // a word or number, or between values a comma, a colon or space
        ++at;
        if (depth == 0) {
          while (std::isalnum(static_cast<unsigned char>(*at)) || *at == '+' || *at == '-' || *at == '.') ++at;
        }
    }
  } while (depth > 0);
  return at;
}

void append_string(std::string& out, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace hexapla::json
