#include "autograd/tape.hpp"

#include "autograd/plan.hpp"
#include "runtime/context.hpp"
#include "runtime/error.hpp"
#include "runtime/faults.hpp"

namespace hexapla {

using autograd::no_slot;
using autograd::Slot;

void Tape::watch(Share<Tensor> tensor, Share<Tensor> gradient) {
  if (gradient) {
    require(gradient->contiguous(), "gradient must be contiguous");
    require(gradient->shape() == tensor->shape(), "gradient has shape ", gradient->shape().text(), ", the tensor ",
            tensor->shape().text());
  } else {
    gradient = new_tensor(*context_, tensor->shape(), Contents::zeros);
  }
  const std::uint64_t serial = tensor->serial();
  const auto known = watched_by_serial_.find(serial);
  if (known != watched_by_serial_.end()) {
    watched_[known->second].gradient = std::move(gradient);
    return;
  }
  watched_by_serial_.emplace(serial, watched_.size());
  if (const auto found = slots_.find(serial); found != slots_.end())
    places_[static_cast<std::size_t>(found->second)].watched = static_cast<std::int64_t>(watched_.size());
  watched_.push_back({std::move(tensor), std::move(gradient)});
}

Share<Tensor> Tape::gradient(const Tensor& tensor) const {
  const auto known = watched_by_serial_.find(tensor.serial());
  if (known == watched_by_serial_.end()) fail(HXP_NO_GRADIENT, "the tensor is not watched by this tape");
  return watched_[known->second].gradient;
}

Slot Tape::slot(const Tensor& tensor) {
  if (gradient_mode_is_off(*context_)) return no_slot;
  if (const auto found = slots_.find(tensor.serial()); found != slots_.end()) return found->second;
  const auto known = watched_by_serial_.find(tensor.serial());
  if (known == watched_by_serial_.end()) return no_slot;
  places_.push_back({tensor.elements(), static_cast<std::int64_t>(known->second), false});
  const auto slot = static_cast<Slot>(places_.size() - 1);
  slots_.emplace(tensor.serial(), slot);
  return slot;
}

void Tape::append(std::unique_ptr<autograd::Record> record, const Tensor& output, std::initializer_list<const Tensor*> inputs) {
  std::size_t input = 0;
  for (const Tensor* tensor : inputs) record->inputs[input++] = slot(*tensor);
  places_.push_back({output.elements(), -1, true});
  record->output = static_cast<Slot>(places_.size() - 1);
  slots_.emplace(output.serial(), record->output);
  records_.push_back(std::move(record));
}

void Tape::backward(const Tensor& output, const Tensor* incoming) {
  if (gradient_mode_is_off(*context_)) return;
  // Whatever happens below, the records are gone when this call ends.
  const auto records = std::exchange(records_, {});
  const auto places = std::exchange(places_, {});
  const auto slots = std::exchange(slots_, {});
  const auto found = slots.find(output.serial());
  if (found == slots.end() || !places[static_cast<std::size_t>(found->second)].made)
    fail(HXP_NO_GRADIENT, "output was not made by an operation recorded on this tape");
  if (incoming != nullptr)
    require(incoming->shape() == output.shape(), "incoming has shape ", incoming->shape().text(), ", output ",
            output.shape().text());
  std::vector<Share<Tensor>> gradients;
  gradients.reserve(watched_.size());
  for (const Watched& watched : watched_) gradients.push_back(watched.gradient);
  const backends::Table& table = context_->table();
  autograd::Plan plan(table, records, places, std::move(gradients));
  plan.make(found->second, incoming);
  std::byte* const kept = scratch_of_thread(*context_, plan.arena_bytes());
  const Share<Storage> arena =
      kept || plan.arena_bytes() == 0 ? Share<Storage>() : make<Storage>(context_, plan.arena_bytes(), Contents::undefined);
  plan.place(arena ? arena->data() : kept);
  table.submit(*context_, [&](backends::Queue& queue) { plan.run(queue); });
}

void Tape::reset() noexcept {
  records_.clear();
  places_.clear();
  slots_.clear();
}

}  // namespace hexapla
