// Writes a safetensors file: F32, tensors in the order given, header padded with spaces to a multiple of 8. See safetensors.hpp.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "formats/json.hpp"
#include "formats/safetensors.hpp"
#include "formats/text.hpp"
#include "runtime/error.hpp"

namespace hexapla {
namespace {

std::uint64_t bytes_of(const NewTensor& tensor) {
  std::uint64_t bytes = sizeof(float);
  for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

void require_names(std::vector<std::string_view> names, std::string_view what) {
  for (const std::string_view name : names) {
    require(first_invalid_utf8(name) == name.size(), what, " ", quoted(name), " is not UTF-8");
  }
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  require(twin == names.end(), what, " ", twin == names.end() ? "" : quoted(*twin), " is given twice");
}

std::string header_of(const std::vector<NewTensor>& tensors, const Metadata& metadata) {
  std::string header = "{";
  const auto separate = [&] {
    if (header.back() != '{') header += ',';
  };
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      separate();
      json::append_string(header, key);
      header += ':';
      json::append_string(header, value);
    }
    header += '}';
  }
  std::uint64_t begin = 0;
  for (const NewTensor& tensor : tensors) {
    separate();
    json::append_string(header, tensor.name);
    header += ":{\"dtype\":\"F32\",\"shape\":[";
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      header += join(axis ? "," : "", tensor.shape[axis]);
    }
    const std::uint64_t end = begin + bytes_of(tensor);
    header += join("],\"data_offsets\":[", begin, ",", end, "]}");
    begin = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<NewTensor>& tensors, const Metadata& metadata,
                       FunctionRef<const float*(std::size_t)> give) {
  std::vector<std::string_view> names, keys;
  for (const NewTensor& tensor : tensors) {
    require(tensor.name != "__metadata__", "a tensor cannot be named '__metadata__'");
    names.push_back(tensor.name);
  }
  for (const auto& [key, value] : metadata) {
    require(first_invalid_utf8(value) == value.size(), "the metadata value of ", quoted(key), " is not UTF-8");
    keys.push_back(key);
  }
  require_names(names, "the tensor name");
  require_names(keys, "the metadata key");
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  NewFile file(path);
  file.write(&length, sizeof length);
  file.write(header);
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    file.write(give(index), static_cast<std::size_t>(bytes_of(tensors[index])));
  }
  file.commit();
}

}  // namespace hexapla
