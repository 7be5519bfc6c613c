// Tensors of a device read from checkpoints and written to them. Separate from both: files know no device, and tensors no file. Both run
// inside a call on the tensors' context.
#pragma once

#include <string>
#include <vector>

#include "formats/checkpoint.hpp"
#include "runtime/call.hpp"

namespace hexapla {

/// A new tensor of the call's context with one entry's values, widened; a scalar becomes shape (1), since a tensor has at least one axis.
/// Throws HXP_INVALID_ARGUMENT (index), HXP_UNSUPPORTED, HXP_IO, HXP_OUT_OF_MEMORY.
Share<Tensor> read_tensor(CallScope& call, const Checkpoint& checkpoint, std::uint64_t index);

/// Write a file whole or not at all (write_safetensors); names and tensors in their order, as many of each.
void write_tensors(const std::string& path, const std::vector<std::string>& names, const std::vector<Share<Tensor>>& tensors,
                   const Metadata& metadata);

}  // namespace hexapla
