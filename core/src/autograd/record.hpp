// One recorded operation and its way back. Separate from the tape, which orders records and plans memory, and from the rules, which
// derive from it. A record keeps what backward needs and nothing else, and knows no backend beyond the table that it is given.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "backends/table.hpp"
#include "runtime/tensor.hpp"

namespace hexapla::autograd {

/// A tensor as the table sees it. Inside a call only.
inline backends::View device_view(const Tensor& tensor) {
  backends::View view;
  view.data = tensor.data();
  view.rank = tensor.rank();
  std::copy(tensor.shape().begin(), tensor.shape().end(), view.shape);
  std::copy(tensor.strides().begin(), tensor.strides().end(), view.strides);
  return view;
}

/// A tensor's place on a tape; no_slot: it needs no gradient there.
using Slot = std::int32_t;
constexpr Slot no_slot = -1;

constexpr std::size_t input_max = 4;
constexpr std::size_t kept_max = 6;

/// What a rule gets when its turn comes: all pointers are on the device and dense.
struct Backward {
  const float* incoming = nullptr;
  std::array<backends::Gradient, input_max> inputs;  // those not wanted have no data
  std::array<const float*, kept_max> kept{};
  void* scratch = nullptr;
};

class Record {
 public:
  Record() = default;
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  virtual ~Record() = default;

  /// Whether the gradient of this input is the incoming gradient as it stands (add, reshape): then the tape passes it on and the rule
  /// is not asked.
  virtual bool passes_on(std::size_t) const { return false; }
  /// Scratch that run needs. Pointers in `at` say only whether they are wanted.
  virtual std::uint64_t scratch_bytes(const backends::Table&, const Backward&) const { return 0; }
  virtual void run(const backends::Table& table, backends::Queue& queue, const Backward& at) const = 0;

  Slot output = no_slot;
  std::array<Slot, input_max> inputs{no_slot, no_slot, no_slot, no_slot};
  std::array<Share<Tensor>, kept_max> kept;
};

}  // namespace hexapla::autograd
