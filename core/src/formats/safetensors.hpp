// One safetensors file: its header checked to the last byte, and its tensors read. Separate from checkpoints, which may be many files.
// A file that passes has tensors that lie end to end from the first data byte to the last, so no claim in a header can make the reader
// allocate more than the file holds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/dtype.hpp"
#include "formats/file.hpp"
#include "runtime/function_ref.hpp"

namespace hexapla {

struct TensorEntry {
  std::string name;
  const Dtype* dtype;
  std::uint32_t rank;
  std::array<std::int64_t, 8> shape;  // rank sizes ≥ 0; rank 0 is a scalar
  std::uint64_t elements;
  std::uint64_t begin;  // of its first byte in the file
  std::uint64_t bytes;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

class Safetensors {
 public:
  /// Throws HXP_IO, HXP_FORMAT, and HXP_UNSUPPORTED for a tensor of more than 8 axes.
  explicit Safetensors(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  /// Sorted by name.
  const std::vector<TensorEntry>& tensors() const noexcept { return tensors_; }
  const Metadata& metadata() const noexcept { return metadata_; }

  /// Throws HXP_UNSUPPORTED for a type that is not widened.
  void require_readable(const TensorEntry& tensor) const;
  /// Give a tensor's values as f32, in order, in runs of at most 256 Ki elements: take(first, count, values); the values die with that
  /// call. Throws as require_readable, and HXP_IO.
  void read(const TensorEntry& tensor, FunctionRef<void(std::uint64_t, std::size_t, const float*)> take) const;

 private:
  File file_;
  std::vector<TensorEntry> tensors_;
  Metadata metadata_;
};

/// A tensor to be written as F32.
struct NewTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Write a file whole or not at all. give(index) hands over a tensor's values, row-major, valid until its next call.
/// Throws HXP_INVALID_ARGUMENT (names: UTF-8, distinct, not "__metadata__"; metadata likewise), HXP_IO.
void write_safetensors(const std::string& path, const std::vector<NewTensor>& tensors, const Metadata& metadata,
                       FunctionRef<const float*(std::size_t)> give);

}  // namespace hexapla
