// Tokenizers and checkpoints as Python classes, and the module itself.
#include "call.hpp"
#include "formats/device_tensors.hpp"
#include "formats/tokenizer.hpp"

namespace hexapla::native {

namespace {

using TokenizerOwner = Owned<Tokenizer>;
using CheckpointOwner = Owned<Checkpoint>;

/// Something asked of an object that belongs to no context.
template <class T, class Ask>
void ask(const Owned<T>& self, Ask&& body) {
  unlocked([&](hxp_error* error) { return guard(error, [&] { body(*share<T>(self.id())); }); });
}

/// An array over the vector's own memory, which the array's base then owns.
IdArray array_over(std::vector<std::int32_t>&& values) {
  auto held = std::make_unique<std::vector<std::int32_t>>(std::move(values));
  const py::capsule base(held.get(), [](void* vector) { delete static_cast<std::vector<std::int32_t>*>(vector); });
  const std::vector<std::int32_t>* const vector = held.release();
  return IdArray(static_cast<py::ssize_t>(vector->size()), vector->data(), base);
}

TokenizerOwner open_tokenizer_in(const std::string& folder) {
  std::uint64_t id = 0;
  unlocked([&](hxp_error* error) { return guard(error, [&] { id = publish(open_tokenizer(folder)); }); });
  return {id, nullptr};
}

void define_tokenizer(py::module_& module) {
  using namespace py::literals;
  owned_class<Tokenizer>(module, "Tokenizer", "A tokenizer.json of byte-level BPE. Any number of threads may encode at once.")
      .def(py::init(&open_tokenizer_in), "folder"_a)
      .def("encode",
           [](const TokenizerOwner& self, std::string_view text) {
             std::vector<std::int32_t> ids;
             ask(self, [&](const Tokenizer& tokenizer) { ids = tokenizer.encode(text); });
             return array_over(std::move(ids));
           },
           "text"_a, "NFC, split pattern, BPE; no added token is recognised inside the text.")
      .def("id",
           [](const TokenizerOwner& self, const std::string& text) {
             std::int32_t id = 0;
             ask(self, [&](const Tokenizer& tokenizer) { id = tokenizer.find_added(text).id; });
             return id;
           },
           "text"_a, "The id of an added token by its text.")
      .def("added", [](const TokenizerOwner& self) {
        std::vector<std::tuple<std::string, std::int32_t, bool>> tokens;
        ask(self, [&](const Tokenizer& tokenizer) {
          for (const AddedToken& token : tokenizer.added()) tokens.emplace_back(token.text, token.id, token.special);
        });
        return tokens;
      });
}

CheckpointOwner open_checkpoint(const std::string& path) {
  std::uint64_t id = 0;
  unlocked([&](hxp_error* error) { return guard(error, [&] { id = publish(make<Checkpoint>(path)); }); });
  return {id, nullptr};
}

using Entry = std::tuple<std::string, std::string, std::vector<std::int64_t>>;

std::vector<Entry> entries(const CheckpointOwner& self) {
  std::vector<Entry> list;
  ask(self, [&](const Checkpoint& checkpoint) {
    for (std::size_t i = 0; i < checkpoint.count(); ++i) {
      const TensorEntry& entry = checkpoint.tensor(i);
      list.emplace_back(entry.name, entry.dtype->name, std::vector<std::int64_t>(entry.shape.begin(), entry.shape.begin() + entry.rank));
    }
  });
  return list;
}

TensorOwner read_named(const CheckpointOwner& self, const std::string& name, const ContextOwner& context) {
  return make_on<Tensor>(context, HXP_OPERATION_CHECKPOINT_READ, [&](CallScope& call, const Share<Context>&) {
    const Share<Checkpoint> checkpoint = share<Checkpoint>(self.id());
    return read_tensor(call, *checkpoint, checkpoint->index_of(name));
  });
}

void write_checkpoint(const std::string& path, const std::vector<std::string>& names, const TensorList& tensors,
                      const std::vector<std::pair<std::string, std::string>>& metadata) {
  if (names.size() != tensors.size()) throw py::value_error("names and tensors must be as many");
  if (tensors.empty()) {
    unlocked([&](hxp_error* error) { return guard(error, [&] { write_tensors(path, {}, {}, metadata); }); });
    return;
  }
  compute_on(*tensors[0], HXP_OPERATION_CHECKPOINT_WRITE, [&](CallScope& call, const Share<Tensor>&) {
    std::vector<Share<Tensor>> shares;
    for (const TensorOwner* tensor : tensors) shares.push_back(call.argument<Tensor>(tensor->id(), "tensors"));
    write_tensors(path, names, shares, metadata);
  });
}

void define_checkpoint(py::module_& module) {
  using namespace py::literals;
  owned_class<Checkpoint>(module, "Checkpoint", "A reader of a safetensors file, or of a folder of them.")
      .def(py::init(&open_checkpoint), "path"_a)
      .def("entries", &entries, "(name, dtype as stored, shape) of every tensor, by the bytes of the names.")
      .def("find",
           [](const CheckpointOwner& self, const std::string& name) {
             std::size_t index = 0;
             ask(self, [&](const Checkpoint& checkpoint) { index = checkpoint.index_of(name); });
             return index;
           },
           "name"_a)
      .def("read", &read_named, "name"_a, "context"_a, "One tensor on a device, widened to f32.")
      .def("metadata",
           [](const CheckpointOwner& self, const std::string& key) {
             std::string value;
             ask(self, [&](const Checkpoint& checkpoint) { value = checkpoint.metadata(key); });
             return value;
           },
           "key"_a);
  module.def("write_checkpoint", &write_checkpoint, "path"_a, "names"_a, "tensors"_a, "metadata"_a,
             "One safetensors file, whole or not at all; metadata as (key, value) pairs.");
  module.def("commit_folder",
             [](const std::string& partial, const std::string& final_path) {
               unlocked([&](hxp_error* error) { return guard(error, [&] { commit_folder(partial, final_path); }); });
             },
             "partial"_a, "final_path"_a, "Make a folder of finished files final: sync, rename, sync the parent.");
}

/// FNV-1a 64 goes byte by byte, each after the last: no array operation of NumPy can do it.
std::uint64_t fnv1a64(const py::buffer& data, std::uint64_t state) {
  const py::buffer_info info = data.request();
  const auto* const bytes = static_cast<const unsigned char*>(info.ptr);
  for (py::ssize_t i = 0; i < info.size * info.itemsize; ++i) state = (state ^ bytes[i]) * 0x100000001B3u;
  return state;
}

}  // namespace

void define_files(py::module_& module) {
  define_tokenizer(module);
  define_checkpoint(module);
  using namespace py::literals;
  module.def("fnv1a64", &fnv1a64, "data"_a, "state"_a = 0xCBF29CE484222325u, "FNV-1a of a contiguous buffer, going on from `state`.");
}

}  // namespace hexapla::native

PYBIND11_MODULE(_hexapla_native, module) {
  module.doc() = "Core's C++ objects as Python's: see package hexapla_native, which is what programs import.";
  hexapla::native::define_context(module);
  hexapla::native::define_tensor(module);
  hexapla::native::define_operations(module);
  hexapla::native::define_files(module);
  module.def("build_info", [] { return hxp_build_info(); });
  module.def("build_faults", [] { return hxp_build_faults(); });
  module.def("status_name", [](hxp_status status) { return hxp_status_name(status); });
}
