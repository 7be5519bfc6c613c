// What every operation does around its kernel, going forward: dense inputs, a new output, scratch, one hand-over, and a record if the tape
// wants one. Separate so that an operation's file holds its checks, its arguments and its way back, and nothing else.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "autograd/record.hpp"
#include "autograd/tape.hpp"
#include "runtime/context.hpp"
#include "runtime/error.hpp"

namespace hexapla::autograd {

/// One operation, inside a call on its context. All memory is taken before anything runs.
class Forward {
 public:
  explicit Forward(Context& context) : context_(context), table_(context.table()) {}

  const backends::Table& table() const noexcept { return table_; }

  /// The tensor's elements, row-major: itself, or a copy made at the start of the hand-over.
  const float* dense(const Share<Tensor>& tensor) {
    if (tensor->contiguous()) return tensor->data();
    float* copy = static_cast<float*>(scratch(tensor->bytes()));
    copies_.push_back({device_view(*tensor), {copy, false}});
    return copy;
  }

  Share<Tensor> output(const Shape& shape) { return new_tensor(context_, shape); }

  /// Lives until this object ends. 0 bytes: nullptr.
  void* scratch(std::uint64_t bytes) {
    if (bytes == 0) return nullptr;
    scratch_.push_back(make<Storage>(Share<Context>::of(&context_), static_cast<std::size_t>(bytes), Contents::undefined));
    return scratch_.back()->data();
  }

  template <class Args>
  void run(const backends::Entry<Args>& entry, const Args& args) {
    table_.submit(context_, [&](backends::Queue& queue) {
      for (const backends::GatherArgs& copy : copies_) table_.gather.run(queue, copy);
      entry.run(queue, args);
    });
  }

 private:
  Context& context_;
  const backends::Table& table_;
  std::vector<Share<Storage>> scratch_;
  std::vector<backends::GatherArgs> copies_;
};

/// Whether an operation on these tensors is to be recorded.
inline bool wanted(Tape* tape, std::initializer_list<const Tensor*> inputs) {
  bool any = false;
  if (tape != nullptr)
    for (const Tensor* input : inputs) any = tape->slot(*input) != no_slot || any;
  return any;
}

/// The same for one that has been found wanted already.
inline bool has_slot(Tape* tape, const Share<Tensor>& tensor) { return tape != nullptr && tape->slot(*tensor) != no_slot; }

inline void require_rank(const Share<Tensor>& tensor, const char* name, std::uint32_t rank) {
  require(tensor->rank() == rank, name, " has shape ", tensor->shape().text(), ", needed are ", rank, " axes");
}

}  // namespace hexapla::autograd
