// What happens to gradients after backward, as C++ functions over lists of contiguous tensors of one context, each list one hand-over.
// Separate from the operations: nothing here is recorded, and parameters change in place.
#pragma once

#include <cstdint>
#include <vector>

#include "hexapla/optimizer.h"
#include "runtime/tensor.hpp"

namespace hexapla::optimizer {

using Tensors = std::vector<Share<Tensor>>;

/// sqrt of the f64 sum of squares. Throws HXP_OUT_OF_MEMORY.
double gradient_norm(Context& context, const Tensors& gradients);
/// Multiply each by f32(clip_norm / norm) if norm > clip_norm; whether it did.
bool clip(Context& context, const Tensors& gradients, double norm, double clip_norm);
void adamw_step(Context& context, const hxp_adamw_options& options, const Tensors& parameters, const Tensors& gradients,
                const Tensors& exp_avgs, const Tensors& exp_avg_sqs);

}  // namespace hexapla::optimizer
