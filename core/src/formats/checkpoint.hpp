// A checkpoint on disk: one safetensors file, or several with an index. Separate from the single file: here names meet files. Immutable.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.hpp"
#include "runtime/object.hpp"

namespace hexapla {

class Checkpoint final : public Object {
 public:
  static constexpr Kind kind = Kind::checkpoint;

  /// path   a safetensors file, or a folder with model.safetensors or model.safetensors.index.json (the first of them that is there).
  /// Throws HXP_IO, HXP_FORMAT, HXP_UNSUPPORTED.
  explicit Checkpoint(const std::string& path);

  std::size_t count() const noexcept { return tensors_.size(); }
  /// Sorted by the bytes of the names.
  const TensorEntry& tensor(std::size_t index) const noexcept { return *tensors_[index].entry; }
  std::optional<std::size_t> find(std::string_view name) const noexcept;
  /// The same, for who needs it: throws HXP_NOT_FOUND.
  std::size_t index_of(std::string_view name) const;
  /// Throws HXP_INVALID_ARGUMENT.
  void require_index(std::uint64_t index) const;
  /// See Safetensors.
  void require_readable(std::size_t index) const { tensors_[index].file->require_readable(tensor(index)); }
  void read(std::size_t index, FunctionRef<void(std::uint64_t, std::size_t, const float*)> take) const;
  /// Of the first file. Throws HXP_NOT_FOUND.
  const std::string& metadata(std::string_view key) const;

 private:
  ~Checkpoint() override = default;
  struct Tensor {
    const Safetensors* file;
    const TensorEntry* entry;
  };
  void open_shards(const std::string& folder, const std::string& index_path);
  void list(const Safetensors& file);

  std::vector<std::unique_ptr<const Safetensors>> files_;  // in the order of their names
  std::vector<Tensor> tensors_;
};

}  // namespace hexapla
