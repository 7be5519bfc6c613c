// Checkpoints across the ABI. Only reading to a device and writing from one work on a context and are recorded.
#include "hexapla/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "abi/shim.hpp"
#include "formats/device_tensors.hpp"

using namespace hexapla;

namespace {

void describe(const TensorEntry& entry, hxp_checkpoint_entry& out) {
  hxp_checkpoint_entry_init(&out);
  out.rank = entry.rank;
  std::copy_n(entry.shape.begin(), entry.rank, out.shape);
  out.elements = entry.elements;
  out.bytes = entry.bytes;
  std::memcpy(out.dtype, entry.dtype->name.data(), entry.dtype->name.size());
  out.name = entry.name.c_str();
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

std::vector<std::string> read_names(const char* const* names, std::uint64_t count) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < count; ++i) {
    require(names[i] != nullptr, "name ", i, " must be given");
    texts.emplace_back(names[i]);
  }
  return texts;
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
    subject->require_index(index);
    describe(subject->tensor(index), *out);
  });
}

hxp_status hxp_checkpoint_find(hxp_checkpoint checkpoint, const char* name, uint64_t* index_out, hxp_error* error) {
  return guard(error, [&] {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require(name != nullptr, "name must be given");
    require(index_out != nullptr, "index_out must be given");
    *index_out = subject->index_of(name);
  });
}

hxp_status hxp_checkpoint_read(hxp_checkpoint checkpoint, uint64_t index, hxp_context context, hxp_tensor* out, hxp_error* error) {
  return compute<Context>(error, HXP_OPERATION_CHECKPOINT_READ, context, [&](CallScope& call, const Share<Context>&) {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require(out != nullptr, "out must be given");
    *out = call.publish(read_tensor(call, *subject, index));
  });
}

hxp_status hxp_checkpoint_metadata(hxp_checkpoint checkpoint, const char* key, char* out, uint64_t out_bytes, hxp_error* error) {
  return guard(error, [&] {
    const Share<Checkpoint> subject = share<Checkpoint>(checkpoint);
    require(key != nullptr, "key must be given");
    write_text(subject->metadata(key), out, out_bytes);
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
  if (count == 0) return guard(error, [&] { write_tensors(path, {}, {}, prepare()); });
  if (tensors == nullptr) return guard(error, [] { require(false, "tensors must be given"); });
  return compute<Tensor>(error, HXP_OPERATION_CHECKPOINT_WRITE, tensors[0], [&](CallScope& call, const Share<Tensor>&) {
    const Metadata metadata = prepare();
    std::vector<Share<Tensor>> shares;
    for (std::uint64_t i = 0; i < count; ++i) shares.push_back(call.argument<Tensor>(tensors[i], "tensors"));
    write_tensors(path, read_names(names, count), shares, metadata);
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
