// See safetensors.hpp. Reading; the writer is in safetensors_write.cpp.
#include "formats/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "formats/json.hpp"
#include "formats/text.hpp"
#include "runtime/error.hpp"

namespace hexapla {
namespace {

using json::Type;
using json::Value;

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t header_bytes_max = 100'000'000;  // the format's own bound
constexpr std::size_t run_elements = std::size_t{1} << 18;

/// Reads the entries of one header; every refusal names the file, the tensor and the value.
class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::uint64_t data_begin, std::uint64_t data_bytes)
      : path_(path), data_begin_(data_begin), data_bytes_(data_bytes) {}

  void read(Value root, std::vector<TensorEntry>& tensors, Metadata& metadata) const;

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(HXP_FORMAT, path_, ": ", parts...);
  }
  template <class... Parts>
  [[noreturn]] void refuse_tensor(const std::string& name, const Parts&... parts) const {
    refuse("tensor ", quoted(name), ": ", parts...);
  }

  TensorEntry tensor(std::string name, Value value) const;
  void read_shape(TensorEntry& tensor, Value value) const;
  void read_offsets(TensorEntry& tensor, Value value) const;
  std::uint64_t size(const std::string& name, std::string_view what, Value value) const;
  void read_metadata(Value value, Metadata& metadata) const;
  void check_layout(const std::vector<TensorEntry>& tensors) const;

  const std::string& path_;
  std::uint64_t data_begin_;
  std::uint64_t data_bytes_;
};

void HeaderReader::read(Value root, std::vector<TensorEntry>& tensors, Metadata& metadata) const {
  if (root.type() != Type::object) refuse("the header is ", json::type_name(root.type()), ", not an object");
  root.each_member([&](std::string_view name, Value value) {
    if (name == "__metadata__") return read_metadata(value, metadata);
    tensors.push_back(tensor(std::string(name), value));
  });
  check_layout(tensors);
  std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
}

TensorEntry HeaderReader::tensor(std::string name, Value value) const {
  if (name.find('\0') != std::string::npos) refuse_tensor(name, "the name holds U+0000");
  if (value.type() != Type::object) refuse_tensor(name, "the entry is ", json::type_name(value.type()), ", not an object");
  const json::Members members = value.members();
  const std::optional<Value> dtype = json::find(members, "dtype"), shape = json::find(members, "shape"),
                             offsets = json::find(members, "data_offsets");
  if (!dtype || dtype->type() != Type::string) refuse_tensor(name, "no \"dtype\" that is a string");
  if (!shape || shape->type() != Type::array) refuse_tensor(name, "no \"shape\" that is an array");
  if (!offsets || offsets->type() != Type::array) refuse_tensor(name, "no \"data_offsets\" that is an array");
  TensorEntry entry{std::move(name), find_dtype(dtype->text()), 0, {}, 1, 0, 0};
  if (!entry.dtype) refuse_tensor(entry.name, "unknown dtype ", quoted(dtype->text()));
  read_shape(entry, *shape);
  read_offsets(entry, *offsets);
  const unsigned bits = entry.dtype->bits;
  // Elements are bounded by the file first, so that their bits cannot overflow.
  const bool bounded = entry.elements <= data_bytes_ * 8 / bits;
  const bool agrees = bounded && entry.elements * bits % 8 == 0 && entry.elements * bits / 8 == entry.bytes;
  if (!agrees) {
    refuse_tensor(entry.name, "shape ", shape->written().substr(0, 200), " of ", entry.dtype->name, " does not fill data_offsets ",
                  offsets->written().substr(0, 100), " (", entry.bytes, " bytes)");
  }
  return entry;
}

std::uint64_t HeaderReader::size(const std::string& name, std::string_view what, Value value) const {
  const std::optional<std::int64_t> number = value.type() == Type::number ? value.integer() : std::nullopt;
  if (!number || *number < 0 || value.written()[0] == '-') {
    refuse_tensor(name, what, " holds ", quoted(value.written()), ", not an integer from 0 to 2^63 - 1");
  }
  return static_cast<std::uint64_t>(*number);
}

void HeaderReader::read_shape(TensorEntry& entry, Value value) const {
  value.each_item([&](Value item) {
    const std::uint64_t axis = size(entry.name, "shape", item);
    if (entry.rank == entry.shape.size()) {
      fail(HXP_UNSUPPORTED, path_, ": tensor ", quoted(entry.name), " has more than ", entry.shape.size(), " axes");
    }
    entry.shape[entry.rank++] = static_cast<std::int64_t>(axis);
    if (axis != 0 && entry.elements > std::numeric_limits<std::uint64_t>::max() / axis) {
      refuse_tensor(entry.name, "the sizes of shape ", value.written().substr(0, 200), " multiply past 2^64");
    }
    entry.elements *= axis;
  });
}

void HeaderReader::read_offsets(TensorEntry& entry, Value value) const {
  std::array<std::uint64_t, 2> offsets{};
  std::size_t count = 0;
  value.each_item([&](Value item) {
    const std::uint64_t offset = size(entry.name, "data_offsets", item);
    if (count < 2) offsets[count] = offset;
    ++count;
  });
  if (count != 2) refuse_tensor(entry.name, "data_offsets holds ", count, " numbers, not 2");
  const auto [begin, end] = offsets;
  if (begin > end) refuse_tensor(entry.name, "data_offsets begin at ", begin, ", behind their end ", end);
  if (end > data_bytes_) refuse_tensor(entry.name, "data_offsets end at ", end, " of ", data_bytes_, " bytes of data");
  entry.begin = data_begin_ + begin;
  entry.bytes = end - begin;
}

void HeaderReader::read_metadata(Value value, Metadata& metadata) const {
  if (value.type() == Type::null) return;  // MLX writes null where there is none
  if (value.type() != Type::object) refuse("__metadata__ is ", json::type_name(value.type()), ", not an object");
  value.each_member([&](std::string_view key, Value item) {
    if (item.type() != Type::string) refuse("__metadata__ ", quoted(key), " is ", json::type_name(item.type()), ", not a string");
    metadata.emplace_back(key, item.text());
    if (metadata.back().second.find('\0') != std::string::npos) refuse("__metadata__ ", quoted(key), " holds U+0000");
  });
}

/// Tensors in the order of their bytes must follow one another without gap or overlap, from the first byte of data to the last.
void HeaderReader::check_layout(const std::vector<TensorEntry>& tensors) const {
  std::vector<const TensorEntry*> order;
  order.reserve(tensors.size());
  for (const TensorEntry& entry : tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->bytes < b->bytes;
  });
  std::uint64_t at = data_begin_;
  const TensorEntry* before = nullptr;
  for (const TensorEntry* entry : order) {
    if (entry->begin != at) {
      const std::string last = before ? join("tensor ", quoted(before->name), " ends at ", at - data_begin_) : "the data begin at 0";
      const char* what = entry->begin < at ? "overlap" : "hole";
      refuse_tensor(entry->name, what, ": data_offsets begin at ", entry->begin - data_begin_, ", but ", last);
    }
    at = entry->begin + entry->bytes;
    before = entry;
  }
  if (at != data_begin_ + data_bytes_) {
    refuse("the tensors end at byte ", at - data_begin_, " of the data, which have ", data_bytes_, " bytes");
  }
}

std::uint64_t header_length(const File& file) {
  if (file.bytes() < length_bytes) {
    fail(HXP_FORMAT, file.path(), ": the file has ", file.bytes(), " bytes; the length of a safetensors header takes 8");
  }
  std::uint64_t length;
  file.read(0, &length, length_bytes);
  if (length > file.bytes() - length_bytes) {
    fail(HXP_FORMAT, file.path(), ": the header's length is ", length, ", the file has ", file.bytes(), " bytes");
  }
  if (length > header_bytes_max) {
    fail(HXP_FORMAT, file.path(), ": the header's length is ", length, ", the format's bound is ", header_bytes_max);
  }
  return length;
}

}  // namespace

Safetensors::Safetensors(const std::string& path) : file_(path) {
  const std::uint64_t length = header_length(file_);
  std::string header(static_cast<std::size_t>(length), '\0');
  file_.read(length_bytes, header.data(), header.size());
  if (header.empty() || header[0] != '{') fail(HXP_FORMAT, path, ": the header does not begin with {");
  const json::Document document(header, path + ": header");
  const std::uint64_t data_begin = length_bytes + length;
  HeaderReader(path, data_begin, file_.bytes() - data_begin).read(document.root(), tensors_, metadata_);
}

void Safetensors::require_readable(const TensorEntry& tensor) const {
  if (tensor.dtype->widen) return;
  fail(HXP_UNSUPPORTED, path(), ": tensor ", quoted(tensor.name), " is stored as ", tensor.dtype->name, "; F32, F16 and BF16 are read");
}

void Safetensors::read(const TensorEntry& tensor, FunctionRef<void(std::uint64_t, std::size_t, const float*)> take) const {
  require_readable(tensor);
  const std::size_t element_bytes = tensor.dtype->bits / 8;
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(run_elements, tensor.elements));
  std::vector<std::byte> stored(most * element_bytes);
  std::vector<float> values(most);
  for (std::uint64_t first = 0; first < tensor.elements; first += most) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, tensor.elements - first));
    file_.read(tensor.begin + first * element_bytes, stored.data(), count * element_bytes);
    tensor.dtype->widen(stored.data(), count, values.data());
    take(first, count, values.data());
  }
}

}  // namespace hexapla
