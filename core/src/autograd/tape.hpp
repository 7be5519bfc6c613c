// The tape: watched tensors, records in order, and the way back through them. Separate from the operations: it knows records only by
// Record. Tensors are known by their serial numbers, so that the tape keeps alive only what records need.
#pragma once

#include <initializer_list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "autograd/record.hpp"

namespace hexapla {

class Tape final : public Object {
 public:
  static constexpr Kind kind = Kind::tape;
  explicit Tape(Share<Context> context) : Object(kind), context_(std::move(context)) {}

  Context* home() noexcept override { return context_.get(); }

  /// Ask for a gradient; without a tensor for it, one of zeros is made. Throws HXP_INVALID_ARGUMENT, HXP_OUT_OF_MEMORY.
  void watch(Share<Tensor> tensor, Share<Tensor> gradient);
  /// Throws HXP_NO_GRADIENT.
  Share<Tensor> gradient(const Tensor& tensor) const;

  /// The tensor's slot, if ops that use it must be recorded.
  autograd::Slot slot(const Tensor& tensor);
  /// Append a record: it made `output` from `inputs`, of which at least one has a slot.
  void append(std::unique_ptr<autograd::Record> record, const Tensor& output, std::initializer_list<const Tensor*> inputs);

  /// hxp_tape_backward. incoming may be null: ones.
  void backward(const Tensor& output, const Tensor* incoming);
  void reset() noexcept;

  /// A watched tensor or an output on the tape, as the plan of backward sees it.
  struct Place {
    std::int64_t elements;
    std::int64_t watched;  // number of the watched tensor, or −1
    bool made;             // by a record of this tape
  };

 private:
  struct Watched {
    Share<Tensor> tensor;
    Share<Tensor> gradient;
  };

  ~Tape() override = default;

  Share<Context> context_;
  std::vector<Watched> watched_;
  std::unordered_map<std::uint64_t, std::size_t> watched_by_serial_;
  std::unordered_map<std::uint64_t, autograd::Slot> slots_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<autograd::Record>> records_;
};

}  // namespace hexapla
