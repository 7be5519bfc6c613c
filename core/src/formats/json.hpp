// A strict JSON reader: a whole text is checked once, then read through cursors into it. Separate from what is read with it; written for
// large files (a tokenizer.json holds 450,000 strings), so it builds no tree and allocates little beyond the keys it compares.
//
// Stricter than most: UTF-8 is checked, a key may stand in an object once, a surrogate must have its other half, nesting ends at 64,
// nothing may follow the value. Every refusal is HXP_FORMAT and names the byte.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hexapla::json {

enum class Type { null, boolean, number, string, array, object };

const char* type_name(Type type) noexcept;

class Value;

/// The members of an object by name.
using Members = std::map<std::string, Value, std::less<>>;

/// A place in a checked text. It must not outlive the text.
class Value {
 public:
  Type type() const noexcept;

  /// The value as written, without the space around it.
  std::string_view written() const noexcept;

  /// Only of the type that the name says; the caller has looked at type().
  bool boolean() const noexcept { return *at_ == 't'; }

  /// A number written as an integer that fits; nullopt for 1.0, 1e3 and what is too large.
  std::optional<std::int64_t> integer() const noexcept;

  /// A string's text. It points into the checked text, or into `buffer` if the string holds an escape.
  std::string_view text(std::string& buffer) const;
  std::string text() const {
    std::string buffer;
    return std::string(text(buffer));
  }
  /// Is a string, and this one.
  bool is(std::string_view expected) const { return type() == Type::string && text() == expected; }

  /// Call f(std::string_view key, Value) for each member of an object, in the order of the text. The key dies with the call.
  template <class F>
  void each_member(F&& f) const {
    std::string buffer;
    const char* at = first();
    while (*at != '}') {
      const std::string_view key = Value(at).text(buffer);
      const Value member(skip_space(skip_space(skip(at)) + 1));  // past the colon
      f(key, member);
      at = next(member.at_);
    }
  }

  /// Call f(Value) for each item of an array.
  template <class F>
  void each_item(F&& f) const {
    const char* at = first();
    while (*at != ']') {
      f(Value(at));
      at = next(at);
    }
  }

  /// An object's members, for those who ask it more than once: a look at it reads all of its text.
  Members members() const;

 private:
  friend class Document;
  explicit Value(const char* at) noexcept : at_(at) {}
  static const char* skip(const char* at) noexcept;
  static const char* skip_space(const char* at) noexcept;
  const char* first() const noexcept { return skip_space(at_ + 1); }
  static const char* next(const char* at) noexcept {
    const char* after = skip_space(skip(at));
    return *after == ',' ? skip_space(after + 1) : after;
  }

  const char* at_;
};

/// A checked text; borrows it.
class Document {
 public:
  /// text   a string, since the cursors rely on the zero byte behind it; it must stay where it is.
  /// name   what the text is, for refusals ("FOLDER/tokenizer.json").
  Document(const std::string& text, std::string_view name);
  Document(std::string&&, std::string_view) = delete;
  Value root() const noexcept { return root_; }

 private:
  Value root_;
};

/// The member of that name; nullopt if there is none.
std::optional<Value> find(const Members& members, std::string_view key);

/// Append a text as a JSON string, quotes included.
void append_string(std::string& out, std::string_view text);

}  // namespace hexapla::json
