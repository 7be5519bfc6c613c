// See checkpoint.hpp.
#include "formats/checkpoint.hpp"

#include <algorithm>
#include <map>

#include "formats/json.hpp"
#include "formats/text.hpp"
#include "runtime/error.hpp"

namespace hexapla {
namespace {

using json::Type;
using json::Value;

constexpr std::uint64_t index_bytes_max = 100'000'000;

/// name → shard, as the index says it; sorted, so that comparing with the shards is one walk.
using WeightMap = std::map<std::string, std::string, std::less<>>;

WeightMap read_index(const std::string& path) {
  const std::string text = File(path).read_all(index_bytes_max);
  const json::Document document(text, path);
  const Value root = document.root();
  if (root.type() != Type::object) fail(HXP_FORMAT, path, ": the index is ", json::type_name(root.type()), ", not an object");
  const std::optional<Value> map = json::find(root.members(), "weight_map");
  if (!map || map->type() != Type::object) fail(HXP_FORMAT, path, ": no \"weight_map\" that is an object");
  WeightMap weights;
  map->each_member([&](std::string_view name, Value value) {
    if (value.type() != Type::string) fail(HXP_FORMAT, path, ": the shard of ", quoted(name), " is ", json::type_name(value.type()));
    std::string shard = value.text();
    // A shard lies beside its index: a name that leads elsewhere could open any file of this machine.
    if (shard.empty() || shard == "." || shard == ".." || shard.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      fail(HXP_FORMAT, path, ": the shard of ", quoted(name), " is ", quoted(shard), ", not a file's name");
    }
    weights.emplace(name, std::move(shard));
  });
  return weights;
}

}  // namespace

Checkpoint::Checkpoint(const std::string& path) : Object(kind) {
  if (path_kind(path) != PathKind::folder) {
    files_.push_back(std::make_unique<Safetensors>(path));
    list(*files_[0]);
    return;
  }
  const std::string single = path + "/model.safetensors", index = single + ".index.json";
  if (path_kind(single) != PathKind::none) {
    files_.push_back(std::make_unique<Safetensors>(single));
    list(*files_[0]);
  } else if (path_kind(index) != PathKind::none) {
    open_shards(path, index);
  } else {
    fail(HXP_IO, path, " holds neither model.safetensors nor model.safetensors.index.json");
  }
}

void Checkpoint::list(const Safetensors& file) {
  for (const TensorEntry& entry : file.tensors()) tensors_.push_back({&file, &entry});
}

/// Every name in exactly one shard, and that the one the index says.
void Checkpoint::open_shards(const std::string& folder, const std::string& index_path) {
  const WeightMap weights = read_index(index_path);
  std::map<std::string, const Safetensors*> shards;
  for (const auto& [name, shard] : weights) shards.emplace(shard, nullptr);
  for (auto& [shard, file] : shards) {
    files_.push_back(std::make_unique<Safetensors>(folder + "/" + shard));
    file = files_.back().get();
    list(*file);
  }
  const auto refuse = [&](std::string_view name, const auto&... parts) {
    fail(HXP_FORMAT, index_path, ": tensor ", quoted(name), " ", parts...);
  };
  std::sort(tensors_.begin(), tensors_.end(), [](const Tensor& a, const Tensor& b) { return a.entry->name < b.entry->name; });
  for (std::size_t i = 1; i < tensors_.size(); ++i) {
    const Tensor &a = tensors_[i - 1], &b = tensors_[i];
    if (a.entry->name == b.entry->name) refuse(b.entry->name, "lies in both ", a.file->path(), " and ", b.file->path());
  }
  for (const Tensor& tensor : tensors_) {
    const auto said = weights.find(tensor.entry->name);
    if (said == weights.end()) refuse(tensor.entry->name, "lies in ", tensor.file->path(), ", and the index does not name it");
    if (shards[said->second] != tensor.file) refuse(tensor.entry->name, "lies in ", tensor.file->path(), ", the index says ", said->second);
  }
  for (const auto& [name, shard] : weights) {
    if (!find(name)) refuse(name, "is not in ", shard, ", where the index says it is");
  }
}

std::optional<std::size_t> Checkpoint::find(std::string_view name) const noexcept {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const Tensor& tensor, std::string_view key) { return tensor.entry->name < key; });
  if (found == tensors_.end() || found->entry->name != name) return std::nullopt;
  return static_cast<std::size_t>(found - tensors_.begin());
}

void Checkpoint::require_index(std::uint64_t index) const { require(index < count(), "index ", index, " of ", count(), " tensors"); }

std::size_t Checkpoint::index_of(std::string_view name) const {
  const auto index = find(name);
  if (!index) fail(HXP_NOT_FOUND, "no tensor ", quoted(name), " among ", count());
  return *index;
}

void Checkpoint::read(std::size_t index, FunctionRef<void(std::uint64_t, std::size_t, const float*)> take) const {
  tensors_[index].file->read(*tensors_[index].entry, take);
}

const std::string& Checkpoint::metadata(std::string_view key) const {
  if (!files_.empty()) {
    for (const auto& [name, value] : files_[0]->metadata()) {
      if (name == key) return value;
    }
  }
  fail(HXP_NOT_FOUND, "no metadata ", quoted(key));
}

}  // namespace hexapla
