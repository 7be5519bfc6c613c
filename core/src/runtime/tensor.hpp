// Tensors: a storage (counted memory with a share of its context) and strided views of it. Separate from the operations: nothing is
// computed here. A tensor never changes its shape; views of one storage are tensors of their own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "hexapla/tensor.h"
#include "runtime/context.hpp"
#include "runtime/object.hpp"

namespace hexapla {

/// Up to 8 sizes or strides.
class Shape {
 public:
  Shape() noexcept = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);

  std::uint32_t rank() const noexcept { return rank_; }
  std::int64_t operator[](std::size_t axis) const noexcept { return sizes_[axis]; }
  std::int64_t& operator[](std::size_t axis) noexcept { return sizes_[axis]; }
  std::int64_t last() const noexcept { return sizes_[rank_ - 1]; }
  const std::int64_t* begin() const noexcept { return sizes_.data(); }
  const std::int64_t* end() const noexcept { return sizes_.data() + rank_; }
  const std::int64_t* data() const noexcept { return sizes_.data(); }
  friend bool operator==(const Shape& a, const Shape& b) noexcept;
  /// Product of all sizes (checked: see checked_shape).
  std::int64_t elements() const noexcept;
  /// Row-major strides without gaps, in elements.
  Shape row_major() const noexcept;
  /// "(2, 3)"
  std::string text() const;

 private:
  std::array<std::int64_t, HXP_RANK_MAX> sizes_{};
  std::uint32_t rank_ = 0;
};

/// A shape from a caller: rank 1 … 8, no negative size, elements × 4 fits in 63 bits; else HXP_INVALID_ARGUMENT.
Shape checked_shape(std::uint32_t rank, const std::int64_t* sizes);

/// A tensor's dtype from a caller: HXP_DTYPE_F32; the other numbers answer HXP_UNSUPPORTED, what is no dtype HXP_INVALID_ARGUMENT.
void require_dtype(std::int32_t dtype);

/// Counted memory that keeps its context alive.
class Storage final : public Object {
 public:
  Storage(Share<Context> context, std::size_t bytes, Contents contents);
  Context* home() noexcept override { return context_.get(); }
  Context& context() noexcept { return *context_; }
  /// Inside a call only. A spilled storage is copied in here, once a call, and back when the call ends.
  std::byte* data() {
    if (buffer_.spilled()) [[unlikely]] context_->page_in(*this);
    return buffer_.data();
  }
  bool spilled() const noexcept { return buffer_.spilled(); }
  std::size_t bytes() const noexcept { return buffer_.bytes(); }

 private:
  friend class Context;
  ~Storage() override;
  Share<Context> context_;  // declared first: the buffer goes before its context
  Buffer buffer_;
  bool paged_ = false;
};

class Tensor final : public Object {
 public:
  static constexpr Kind kind = Kind::tensor;
  Tensor(Share<Storage> storage, Shape shape, Shape strides, std::int64_t offset)
      : Object(kind), storage_(std::move(storage)), shape_(shape), strides_(strides), offset_(offset) {}

  Context* home() noexcept override { return storage_->home(); }
  Context& context() const noexcept { return storage_->context(); }
  const Share<Storage>& storage() const noexcept { return storage_; }
  std::int32_t dtype() const noexcept { return HXP_DTYPE_F32; }
  std::uint32_t rank() const noexcept { return shape_.rank(); }
  const Shape& shape() const noexcept { return shape_; }
  const Shape& strides() const noexcept { return strides_; }
  std::int64_t offset() const noexcept { return offset_; }
  /// Number of this tensor in the process, never used again: a tape knows its tensors by it without keeping them alive.
  std::uint64_t serial() const noexcept { return serial_; }
  std::int64_t elements() const noexcept { return shape_.elements(); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements()) * sizeof(float); }
  /// Row-major without gaps (axes of size 1, and tensors without elements, hinder nothing).
  bool contiguous() const noexcept;
  /// Two indices may reach one element (a sufficient test: a stride lies within the reach of smaller ones).
  bool repeats() const;
  /// Elements from the first to the last that the view reaches, both included.
  std::int64_t span() const noexcept;
  /// The first element. Inside a call only (Storage::data).
  float* data() const { return reinterpret_cast<float*>(storage_->data()) + offset_; }

 private:
  ~Tensor() override = default;
  static std::uint64_t next_serial() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  Share<Storage> storage_;
  Shape shape_;
  Shape strides_;
  std::int64_t offset_;
  const std::uint64_t serial_ = next_serial();
};

/// A contiguous tensor with a storage of its own. Throws HXP_OUT_OF_MEMORY.
Share<Tensor> new_tensor(Context& context, const Shape& shape, Contents contents = Contents::undefined);

/// Another view of a tensor's storage; the caller has checked that it stays inside.
Share<Tensor> view_of(const Tensor& tensor, const Shape& shape, const Shape& strides, std::int64_t offset);

}  // namespace hexapla
