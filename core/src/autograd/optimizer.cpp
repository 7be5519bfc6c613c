#include "autograd/optimizer.hpp"

#include <cmath>

#include "backends/table.hpp"
#include "runtime/context.hpp"
#include "runtime/error.hpp"

namespace hexapla::optimizer {

namespace {

void require_contiguous(const Tensors& tensors, const char* name) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    require(tensors[i]->contiguous(), name, "[", i, "] is not contiguous: its shape is ", tensors[i]->shape().text());
}

void require_like(const Tensors& tensors, const char* name, const Tensors& parameters) {
  require_contiguous(tensors, name);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    require(tensors[i]->shape() == parameters[i]->shape(), name, "[", i, "] has shape ", tensors[i]->shape().text(), ", parameters[",
            i, "] ", parameters[i]->shape().text());
}

// Addresses and sizes as the table wants them.
struct Pointers {
  explicit Pointers(const Tensors& tensors) {
    data.reserve(tensors.size());
    counts.reserve(tensors.size());
    for (const Share<Tensor>& tensor : tensors) {
      data.push_back(tensor->data());
      counts.push_back(tensor->elements());
    }
  }
  backends::ListArgs list() const { return {data.data(), counts.data(), static_cast<backends::Index>(data.size())}; }

  std::vector<float*> data;
  std::vector<backends::Index> counts;
};

}  // namespace

double gradient_norm(Context& context, const Tensors& gradients) {
  require_contiguous(gradients, "gradients");
  const backends::Table& table = context.table();
  const Pointers pointers(gradients);
  double total = 0;
  backends::SquareSumArgs arguments{pointers.list(), &total, nullptr};
  const Share<Storage> scratch = make<Storage>(
      Share<Context>::of(&context), static_cast<std::size_t>(table.square_sum.scratch_bytes(arguments)), Contents::undefined);
  arguments.scratch = scratch->data();
  table.submit(context, [&](backends::Queue& queue) { table.square_sum.run(queue, arguments); });
  return std::sqrt(total);
}

bool clip(Context& context, const Tensors& gradients, double norm, double clip_norm) {
  require_contiguous(gradients, "gradients");
  require(clip_norm > 0, "clip_norm is ", clip_norm);
  if (!(norm > clip_norm)) return false;
  const backends::Table& table = context.table();
  const Pointers pointers(gradients);
  const float factor = static_cast<float>(clip_norm / norm);
  table.submit(context, [&](backends::Queue& queue) { table.multiply.run(queue, {pointers.list(), factor}); });
  return true;
}

void adamw_step(Context& context, const hxp_adamw_options& options, const Tensors& parameters, const Tensors& gradients,
                const Tensors& exp_avgs, const Tensors& exp_avg_sqs) {
  require(options.step >= 1, "step is ", options.step, ", it counts from 1");
  require(options.beta1 >= 0 && options.beta1 < 1, "beta1 is ", options.beta1, ", outside [0, 1)");
  require(options.beta2 >= 0 && options.beta2 < 1, "beta2 is ", options.beta2, ", outside [0, 1)");
  require(options.epsilon > 0, "epsilon is ", options.epsilon, ", not above 0");
  require(options.reserved == 0, "reserved is ", options.reserved, ", not 0");
  require(std::isfinite(options.learning_rate), "learning_rate is ", options.learning_rate);
  require(options.weight_decay >= 0, "weight_decay is ", options.weight_decay);
  require_contiguous(parameters, "parameters");
  require_like(gradients, "gradients", parameters);
  require_like(exp_avgs, "exp_avgs", parameters);
  require_like(exp_avg_sqs, "exp_avg_sqs", parameters);
  const backends::Table& table = context.table();
  const Pointers p(parameters), g(gradients), m(exp_avgs), v(exp_avg_sqs);
  const backends::AdamWArgs arguments{p.list(),
                                      g.data.data(),
                                      m.data.data(),
                                      v.data.data(),
                                      options.learning_rate,
                                      options.beta1,
                                      options.beta2,
                                      options.epsilon,
                                      options.weight_decay,
                                      options.step};
  table.submit(context, [&](backends::Queue& queue) { table.adamw.run(queue, arguments); });
}

}  // namespace hexapla::optimizer
