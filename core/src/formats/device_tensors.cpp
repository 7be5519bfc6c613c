#include "formats/device_tensors.hpp"

#include "runtime/transfer.hpp"

namespace hexapla {

Share<Tensor> read_tensor(CallScope& call, const Checkpoint& checkpoint, std::uint64_t index) {
  checkpoint.require_index(index);
  checkpoint.require_readable(index);
  constexpr std::int64_t one = 1;
  const TensorEntry& entry = checkpoint.tensor(index);
  const Share<Tensor> tensor =
      call.tensor(entry.rank == 0 ? checked_shape(1, &one) : checked_shape(entry.rank, entry.shape.data()));
  checkpoint.read(index, [&](std::uint64_t first, std::size_t count, const float* values) {
    call.context().device().copy_in(reinterpret_cast<std::byte*>(tensor->data() + first), values, count * sizeof(float));
  });
  return tensor;
}

void write_tensors(const std::string& path, const std::vector<std::string>& names, const std::vector<Share<Tensor>>& tensors,
                   const Metadata& metadata) {
  std::vector<NewTensor> described;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    described.push_back({names[i], {tensors[i]->shape().begin(), tensors[i]->shape().end()}});
  std::vector<float> dense;
  write_safetensors(path, described, metadata, [&](std::size_t index) -> const float* {
    dense.resize(static_cast<std::size_t>(tensors[index]->elements()));
    read(*tensors[index], dense.data());
    return dense.data();
  });
}

}  // namespace hexapla
