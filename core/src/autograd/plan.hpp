// The plan of one backward: what runs in which order, and where every gradient lies. Made before the hand-over, so that all memory is one
// allocation, taken on the caller's thread before anything is added to a gradient: a backward either has its memory or changes nothing.
// Buffers are reused as soon as the last reader of a gradient is past; a gradient that only passes through (add, reshape) is shared
// instead of copied until somebody must add to it.
#pragma once

#include <memory>
#include <vector>

#include "autograd/record.hpp"
#include "autograd/tape.hpp"

namespace hexapla::autograd {

/// Offsets in an arena that does not exist yet: first fit, 64-byte steps.
class Arena {
 public:
  std::uint64_t take(std::uint64_t bytes);
  void give_back(std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t bytes() const noexcept { return high_; }

 private:
  struct Gap {
    std::uint64_t offset, bytes;
  };
  std::vector<Gap> gaps_;  // by offset, never touching
  std::uint64_t high_ = 0;
};

class Plan {
 public:
  Plan(const backends::Table& table, const std::vector<std::unique_ptr<Record>>& records, const std::vector<Tape::Place>& places,
       std::vector<Share<Tensor>> watched_gradients);

  /// Go through the records from `output` on. incoming: null = ones.
  void make(Slot output, const Tensor* incoming);
  std::uint64_t arena_bytes() const noexcept { return arena_.bytes(); }
  /// Resolve every address; on the caller's thread, inside the call.
  void place(std::byte* arena);
  /// Inside the hand-over.
  void run(backends::Queue& queue) const;

 private:
  using BufferNumber = std::int32_t;
  struct Buffer {
    std::uint64_t offset = 0, bytes = 0;
    float* outside = nullptr;  // a tensor's own memory, not the arena's
    int users = 1;
    bool read_only = false;
  };
  // A record's turn, or (record null) target (+)= source.
  struct Step {
    const Record* record = nullptr;
    BufferNumber incoming = -1;
    std::array<BufferNumber, input_max> targets{-1, -1, -1, -1};
    std::array<bool, input_max> accumulate{};
    std::uint64_t scratch = 0;
    std::array<std::uint64_t, kept_max> dense{};
    std::int64_t elements = 0;
    Backward at;
  };

  BufferNumber take(std::int64_t elements);
  void drop(BufferNumber buffer);
  void move(BufferNumber source, BufferNumber target, bool accumulate, std::int64_t elements);
  BufferNumber outside(const Tensor& tensor);
  BufferNumber watched_buffer(std::int64_t number);
  void turn(const Record& record);
  void pass_on(Slot slot, BufferNumber incoming);
  BufferNumber target(Slot slot, bool& accumulate);
  bool written_before(const Step& step, std::size_t input, BufferNumber buffer) const;
  void rule(const Record& record, BufferNumber incoming);
  float* address(BufferNumber buffer) const;

  const backends::Table& table_;
  const std::vector<std::unique_ptr<Record>>& records_;
  const std::vector<Tape::Place>& places_;
  std::vector<Share<Tensor>> watched_;
  std::vector<BufferNumber> watched_buffers_;
  std::vector<BufferNumber> gradients_;  // by slot
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  Arena arena_;
  std::byte* base_ = nullptr;
  const Tensor* incoming_ = nullptr;
  BufferNumber seed_ = -1;
};

}  // namespace hexapla::autograd
