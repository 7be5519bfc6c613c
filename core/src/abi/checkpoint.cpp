// Checkpoints across the ABI. Only reading to a device and writing from one work on a context and are recorded.
#include "hexapla/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "abi/shim.hpp"
#include "formats/checkpoint.hpp"
#include "formats/text.hpp"
#include "runtime/transfer.hpp"

using namespace hexapla;

namespace {

void require_index(const Checkpoint& checkpoint, std::uint64_t index) {
  require(index < checkpoint.count(), "index ", index, " of ", checkpoint.count(), " tensors");
}

void describe(const TensorEntry& entry, hxp_checkpoint_entry& out) {
  hxp_checkpoint_entry_init(&out);
  out.rank = entry.rank;
  std::copy_n(entry.shape.begin(), entry.rank, out.shape);
  out.elements = entry.elements;
  out.bytes = entry.bytes;
  std::memcpy(out.dtype, entry.dtype->name.data(), entry.dtype->name.size());
  out.name = entry.name.c_str();
}

/// A scalar becomes shape (1), since a tensor has at least one axis.
Shape shape_on_device(const TensorEntry& entry) {
  constexpr std::int64_t one = 1;
  return entry.rank == 0 ? checked_shape(1, &one) : checked_shape(entry.rank, entry.shape.data());
}

Metadata read_metadata(const char* const* keys, const char* const* values, std::uint64_t count) {
  require(count == 0 || (keys != nullptr && values != nullptr), "metadata_keys and metadata_values must be given");
  Metadata metadata;
  for (std::uint64_t i = 0; i < count; ++i) {
    require(keys[i] != nullptr && values[i] != nullptr, "metadata ", i, " must have a key and a value");
    metadata.emplace_back(keys[i], values[i]);
  }
  return metadata;
}

void write_tensors(const char* path, const char* const* names, const std::vector<Share<Tensor>>& tensors, const Metadata& metadata) {
  std::vector<NewTensor> described;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    require(names[i] != nullptr, "name ", i, " must be given");
    described.push_back({names[i], {tensors[i]->shape().begin(), tensors[i]->shape().end()}});
  }
  std::vector<float> dense;
  write_safetensors(path, described, metadata, [&](std::size_t index) -> const float* {
    dense.resize(static_cast<std::size_t>(tensors[index]->elements()));
    read(*tensors[index], dense.data());
    return dense.data();
  });
}

}  // namespace

extern "C" {

void hxp_checkpoint_entry_init(hxp_checkpoint_entry* entry) {
  *entry = {};
  entry->struct_size = sizeof *entry;
}

hxp_status hxp_checkpoint_open(const char* path, hxp_checkpoint* out, hxp_error* error) {
  return guard(error, [&] {
    require(path != nullptr, "path must be given");
    require(out != nullptr, "out must be given");
    *out = publish(make<Checkpoint>(path));
  });
}

hxp_status hxp_checkpoint_retain(hxp_checkpoint checkpoint, hxp_checkpoint* out, hxp_error* error) {
  return retain<Checkpoint>(error, 0, checkpoint, out);
}

hxp_status hxp_checkpoint_release(hxp_checkpoint checkpoint, hxp_error* error) { return release<Checkpoint>(error, 0, checkpoint); }

hxp_status hxp_checkpoint_count(hxp_checkpoint checkpoint, uint64_t* out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require(out != nullptr, "out must be given");
    *out = subject->count();
  });
}

hxp_status hxp_checkpoint_describe(hxp_checkpoint checkpoint, uint64_t index, hxp_checkpoint_entry* out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require_struct(out, "out");
    require_index(*subject, index);
    describe(subject->tensor(index), *out);
  });
}

hxp_status hxp_checkpoint_find(hxp_checkpoint checkpoint, const char* name, uint64_t* index_out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require(name != nullptr, "name must be given");
    require(index_out != nullptr, "index_out must be given");
    const auto index = subject->find(name);
    if (!index) fail(HXP_NOT_FOUND, "no tensor ", quoted(name), " among ", subject->count());
    *index_out = *index;
  });
}

hxp_status hxp_checkpoint_read(hxp_checkpoint checkpoint, uint64_t index, hxp_context context, hxp_tensor* out, hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_CHECKPOINT_READ, context, [&](CallScope& call, const Share<Context>&) {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require(out != nullptr, "out must be given");
    require_index(*subject, index);
    subject->require_readable(index);
    const Share<Tensor> tensor = call.tensor(shape_on_device(subject->tensor(index)));
    subject->read(index, [&](std::uint64_t first, std::size_t count, const float* values) {
      call.context().device().copy_in(reinterpret_cast<std::byte*>(tensor->data() + first), values, count * sizeof(float));
    });
    *out = call.publish(tensor);
  });
}

hxp_status hxp_checkpoint_metadata(hxp_checkpoint checkpoint, const char* key, char* out, uint64_t out_bytes, hxp_error* error) {
  return guard(error, [&] {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require(key != nullptr, "key must be given");
    const std::string* value = subject->metadata(key);
    if (!value) fail(HXP_NOT_FOUND, "no metadata ", quoted(key));
    write_text(*value, out, out_bytes);
  });
}

hxp_status hxp_checkpoint_write(const char* path, const char* const* names, const hxp_tensor* tensors, uint64_t count,
                                const char* const* metadata_keys, const char* const* metadata_values, uint64_t metadata_count,
                                hxp_error* error) {
  const auto prepare = [&] {
    require(path != nullptr, "path must be given");
    require(count == 0 || names != nullptr, "names must be given");
    return read_metadata(metadata_keys, metadata_values, metadata_count);
  };
  if (count == 0) return guard(error, [&] { write_tensors(path, names, {}, prepare()); });
  if (tensors == nullptr) return guard(error, [] { require(false, "tensors must be given"); });
  return compute<Tensor>(error, HXP_OPERATION_CHECKPOINT_WRITE, tensors[0], [&](CallScope& call, const Share<Tensor>&) {
    const Metadata metadata = prepare();
    std::vector<Share<Tensor>> shares;
    for (std::uint64_t i = 0; i < count; ++i) shares.push_back(call.argument<Tensor>(tensors[i], "tensors"));
    write_tensors(path, names, shares, metadata);
  });
}

hxp_status hxp_checkpoint_commit(const char* partial, const char* final_path, hxp_error* error) {
  return guard(error, [&] {
    require(partial != nullptr, "partial must be given");
    require(final_path != nullptr, "final_path must be given");
    commit_folder(partial, final_path);
  });
}

}  // extern "C"
