#include "autograd/plan.hpp"

#include <algorithm>

#include "runtime/faults.hpp"

namespace hexapla::autograd {

namespace {

constexpr std::uint64_t step_bytes = 64;

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + step_bytes - 1) / step_bytes * step_bytes; }

// Whether backward must make a dense copy of what it reads.
bool needs_copy(const Share<Tensor>& kept) {
  if (!kept || kept->contiguous()) return false;
  return kept->span() < kept->elements() || !faulty(Fault::transposed_backward_dense);
}

std::uint64_t float_bytes(std::int64_t elements) { return static_cast<std::uint64_t>(elements) * sizeof(float); }

}  // namespace

std::uint64_t Arena::take(std::uint64_t bytes) {
  bytes = rounded(bytes);
  if (bytes == 0) return 0;
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    if (gap->bytes < bytes) continue;
    const std::uint64_t offset = gap->offset;
    gap->offset += bytes;
    gap->bytes -= bytes;
    if (gap->bytes == 0) gaps_.erase(gap);
    return offset;
  }
  const bool grows_a_gap = !gaps_.empty() && gaps_.back().offset + gaps_.back().bytes == high_;
  const std::uint64_t offset = grows_a_gap ? gaps_.back().offset : high_;
  if (grows_a_gap) gaps_.pop_back();
  high_ = offset + bytes;
  return offset;
}

void Arena::give_back(std::uint64_t offset, std::uint64_t bytes) {
  bytes = rounded(bytes);
  if (bytes == 0) return;
  auto after = std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& gap) { return gap.offset > offset; });
  after = gaps_.insert(after, {offset, bytes});
  if (const auto next = after + 1; next != gaps_.end() && after->offset + after->bytes == next->offset) {
    after->bytes += next->bytes;
    gaps_.erase(next);
  }
  if (after != gaps_.begin())
    if (const auto before = after - 1; before->offset + before->bytes == after->offset) {
      before->bytes += after->bytes;
      gaps_.erase(after);
    }
}

Plan::Plan(const backends::Table& table, const std::vector<std::unique_ptr<Record>>& records,
           const std::vector<Tape::Place>& places, std::vector<Share<Tensor>> watched_gradients)
    : table_(table),
      records_(records),
      places_(places),
      watched_(std::move(watched_gradients)),
      watched_buffers_(watched_.size(), -1),
      gradients_(places.size(), -1) {}

Plan::BufferNumber Plan::take(std::int64_t elements) {
  Buffer buffer;
  buffer.bytes = float_bytes(elements);
  buffer.offset = arena_.take(buffer.bytes);
  buffers_.push_back(buffer);
  return static_cast<BufferNumber>(buffers_.size() - 1);
}

Plan::BufferNumber Plan::outside(const Tensor& tensor) {
  Buffer buffer;
  buffer.bytes = tensor.bytes();
  buffer.outside = tensor.data();
  buffers_.push_back(buffer);
  return static_cast<BufferNumber>(buffers_.size() - 1);
}

void Plan::drop(BufferNumber number) {
  Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
  if (--buffer.users == 0 && buffer.outside == nullptr) arena_.give_back(buffer.offset, buffer.bytes);
}

void Plan::move(BufferNumber source, BufferNumber target, bool accumulate, std::int64_t elements) {
  Step step;
  step.incoming = source;
  step.targets[0] = target;
  step.accumulate[0] = accumulate;
  step.elements = elements;
  steps_.push_back(step);
}

void Plan::make(Slot output, const Tensor* incoming) {
  incoming_ = incoming;
  const bool as_it_stands = incoming != nullptr && incoming->contiguous();
  seed_ = as_it_stands ? outside(*incoming) : take(places_[static_cast<std::size_t>(output)].elements);
  buffers_[static_cast<std::size_t>(seed_)].read_only = as_it_stands;
  gradients_[static_cast<std::size_t>(output)] = seed_;
  for (auto record = records_.rbegin(); record != records_.rend(); ++record)
    if (gradients_[static_cast<std::size_t>((*record)->output)] >= 0) turn(**record);
}

// The gradient at the record's output is complete: give it to the output's watcher, then to the rule.
void Plan::turn(const Record& record) {
  const auto output = static_cast<std::size_t>(record.output);
  const BufferNumber incoming = gradients_[output];
  const Tape::Place& place = places_[output];
  if (place.watched >= 0) move(incoming, watched_buffer(place.watched), true, place.elements);
  for (std::size_t input = 0; input < input_max; ++input)
    if (record.inputs[input] != no_slot && record.passes_on(input)) pass_on(record.inputs[input], incoming);
  rule(record, incoming);
  gradients_[output] = -1;
  drop(incoming);
}

Plan::BufferNumber Plan::watched_buffer(std::int64_t number) {
  BufferNumber& buffer = watched_buffers_[static_cast<std::size_t>(number)];
  if (buffer < 0) buffer = outside(*watched_[static_cast<std::size_t>(number)]);
  return buffer;
}

// Where a contribution to the slot's gradient goes, and whether it is added there.
Plan::BufferNumber Plan::target(Slot slot, bool& accumulate) {
  const Tape::Place& place = places_[static_cast<std::size_t>(slot)];
  accumulate = true;
  if (!place.made) return watched_buffer(place.watched);
  BufferNumber& gradient = gradients_[static_cast<std::size_t>(slot)];
  if (gradient < 0) {
    accumulate = false;
    gradient = take(place.elements);
  } else if (const Buffer& shared = buffers_[static_cast<std::size_t>(gradient)]; shared.users > 1 || shared.read_only) {
    const BufferNumber own = take(place.elements);
    move(gradient, own, false, place.elements);
    drop(gradient);
    gradient = own;
  }
  return gradient;
}

void Plan::pass_on(Slot slot, BufferNumber incoming) {
  const Tape::Place& place = places_[static_cast<std::size_t>(slot)];
  BufferNumber& gradient = gradients_[static_cast<std::size_t>(slot)];
  if (place.made && gradient < 0) {
    gradient = incoming;
    ++buffers_[static_cast<std::size_t>(incoming)].users;
    return;
  }
  bool accumulate = true;
  const BufferNumber to = target(slot, accumulate);
  move(incoming, to, true, place.elements);
}

// Whether an earlier input of this step writes to the same memory: one tensor given twice, or one gradient given to two watches.
bool Plan::written_before(const Step& step, std::size_t input, BufferNumber number) const {
  const Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
  for (std::size_t earlier = 0; earlier < input; ++earlier) {
    if (step.targets[earlier] < 0) continue;
    if (step.targets[earlier] == number) return true;
    const Buffer& other = buffers_[static_cast<std::size_t>(step.targets[earlier])];
    if (buffer.outside && other.outside && buffer.outside < other.outside + other.bytes / sizeof(float) &&
        other.outside < buffer.outside + buffer.bytes / sizeof(float))
      return true;
  }
  return false;
}

void Plan::rule(const Record& record, BufferNumber incoming) {
  struct Detour {  // a contribution that cannot be written beside another one, and where it is added afterwards
    BufferNumber from, to;
    std::int64_t elements;
  };
  std::vector<Detour> detours;
  Step step;
  step.record = &record;
  step.incoming = incoming;
  float wanted;
  bool any = false;
  for (std::size_t input = 0; input < input_max; ++input) {
    const Slot slot = record.inputs[input];
    if (slot == no_slot || record.passes_on(input)) continue;
    bool accumulate = true;
    BufferNumber to = target(slot, accumulate);
    if (written_before(step, input, to)) {
      const std::int64_t elements = places_[static_cast<std::size_t>(slot)].elements;
      detours.push_back({take(elements), to, elements});
      to = detours.back().from;
      accumulate = false;
    }
    step.targets[input] = to;
    step.accumulate[input] = accumulate;
    step.at.inputs[input] = {&wanted, accumulate};
    any = true;
  }
  if (!any) return;
  const std::uint64_t scratch_bytes = record.scratch_bytes(table_, step.at);
  step.scratch = arena_.take(scratch_bytes);
  for (std::size_t i = 0; i < kept_max; ++i)
    if (needs_copy(record.kept[i])) step.dense[i] = arena_.take(record.kept[i]->bytes());
  steps_.push_back(step);
  arena_.give_back(step.scratch, scratch_bytes);
  for (std::size_t i = 0; i < kept_max; ++i)
    if (needs_copy(record.kept[i])) arena_.give_back(step.dense[i], record.kept[i]->bytes());
  for (const Detour& detour : detours) {
    move(detour.from, detour.to, true, detour.elements);
    drop(detour.from);
  }
}

float* Plan::address(BufferNumber number) const {
  const Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
  return buffer.outside ? buffer.outside : reinterpret_cast<float*>(base_ + buffer.offset);
}

void Plan::place(std::byte* arena) {
  base_ = arena;
  for (Step& step : steps_) {
    step.at.incoming = address(step.incoming);
    for (std::size_t input = 0; input < input_max; ++input)
      step.at.inputs[input] = {step.targets[input] < 0 ? nullptr : address(step.targets[input]), step.accumulate[input]};
    step.at.scratch = base_ + step.scratch;
    if (step.record == nullptr) continue;
    for (std::size_t i = 0; i < kept_max; ++i)
      if (const Share<Tensor>& kept = step.record->kept[i]; kept)
        step.at.kept[i] = needs_copy(kept) ? reinterpret_cast<const float*>(base_ + step.dense[i]) : kept->data();
  }
}

void Plan::run(backends::Queue& queue) const {
  const Buffer& seed = buffers_[static_cast<std::size_t>(seed_)];
  if (incoming_ == nullptr)
    table_.fill.run(queue, {address(seed_), static_cast<std::int64_t>(seed.bytes / sizeof(float)), 1.0f});
  else if (!seed.read_only)
    table_.gather.run(queue, {device_view(*incoming_), {address(seed_), false}});
  for (const Step& step : steps_) {
    if (step.record == nullptr) {
      table_.move.run(queue, {step.at.incoming, step.at.inputs[0], step.elements});
      continue;
    }
    for (std::size_t i = 0; i < kept_max; ++i)
      if (const Share<Tensor>& kept = step.record->kept[i]; needs_copy(kept))
        table_.gather.run(queue, {device_view(*kept), {const_cast<float*>(step.at.kept[i]), false}});
    step.record->run(table_, queue, step.at);
  }
}

}  // namespace hexapla::autograd
