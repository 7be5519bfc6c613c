// libFuzzer entry point for the JSON reader: check a text and, if it passes, read every value of it. Built by no library target:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Icore/include -Icore/src core/fuzz/json.cpp core/src/formats/*.cpp
#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/json.hpp"
#include "runtime/error.hpp"

using namespace hexapla;

namespace {

std::size_t walk(json::Value value) {
  std::size_t seen = value.written().size();
  switch (value.type()) {
    case json::Type::object:
      value.each_member([&](std::string_view key, json::Value member) { seen += key.size() + walk(member); });
      break;
    case json::Type::array: value.each_item([&](json::Value item) { seen += walk(item); }); break;
    case json::Type::string: seen += value.text().size(); break;
    case json::Type::number: seen += value.integer().has_value(); break;
    case json::Type::boolean: seen += value.boolean(); break;
    case json::Type::null: break;
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    walk(json::Document(text, "input").root());
  } catch (const Error& error) {
    if (error.status != HXP_FORMAT) __builtin_trap();
  }
  return 0;
}
