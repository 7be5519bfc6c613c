#include "runtime/tensor.hpp"

#include <algorithm>
#include <vector>

#include "runtime/error.hpp"

namespace hexapla {

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(static_cast<std::uint32_t>(sizes.size())) {
  if (sizes.size() > sizes_.size()) fail(HXP_INTERNAL, "rank ", sizes.size());
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

bool operator==(const Shape& a, const Shape& b) noexcept { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::int64_t Shape::elements() const noexcept {
  std::int64_t product = 1;
  for (const std::int64_t size : *this) product *= size;
  return product;
}

Shape Shape::row_major() const noexcept {
  Shape strides = *this;
  std::int64_t stride = 1;
  for (std::uint32_t axis = rank_; axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(sizes_[axis], 1);
  }
  return strides;
}

std::string Shape::text() const {
  std::string text = "(";
  for (std::uint32_t axis = 0; axis < rank_; ++axis) text += (axis ? ", " : "") + std::to_string(sizes_[axis]);
  return text + ")";
}

Shape checked_shape(std::uint32_t rank, const std::int64_t* sizes) {
  require(rank >= 1 && rank <= HXP_RANK_MAX, "rank ", rank, " is not 1 to ", +HXP_RANK_MAX);
  require(sizes != nullptr, "shape must be given");
  std::int64_t bytes = sizeof(float);
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    require(sizes[axis] >= 0, "size ", sizes[axis], " of axis ", axis, " is negative");
    // An empty axis must not hide that the others do not fit: strides are their products.
    require(!__builtin_mul_overflow(bytes, std::max<std::int64_t>(sizes[axis], 1), &bytes), "shape ",
            Shape(std::span(sizes, rank)).text(), " has more bytes than 63 bits can count");
  }
  return Shape(std::span(sizes, rank));
}

void require_dtype(std::int32_t dtype) {
  require(dtype >= HXP_DTYPE_F32 && dtype <= HXP_DTYPE_BF16, "dtype ", dtype, " is none of the HXP_DTYPE numbers");
  if (dtype != HXP_DTYPE_F32) fail(HXP_UNSUPPORTED, "dtype ", dtype == HXP_DTYPE_F16 ? "F16" : "BF16", " is for storage on disk only; use F32");
}

Storage::Storage(Share<Context> context, std::size_t bytes, Contents contents)
    : Object(Kind::none), context_(std::move(context)), buffer_(*context_, bytes, contents) {}

Storage::~Storage() {
  if (buffer_.spilled()) context_->forget(*this);
}

bool Tensor::contiguous() const noexcept {
  if (elements() == 0) return true;
  const Shape dense = shape_.row_major();
  for (std::uint32_t axis = 0; axis < rank(); ++axis) {
    if (shape_[axis] != 1 && strides_[axis] != dense[axis]) return false;
  }
  return true;
}

bool Tensor::repeats() const {
  if (elements() == 0) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride, size
  for (std::uint32_t axis = 0; axis < rank(); ++axis) {
    if (shape_[axis] > 1) axes.emplace_back(strides_[axis], shape_[axis]);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;  // the farthest element that the axes so far lead to
  for (const auto& [stride, size] : axes) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

std::int64_t Tensor::span() const noexcept {
  if (elements() == 0) return 0;
  std::int64_t last = 0;
  for (std::uint32_t axis = 0; axis < rank(); ++axis) last += (shape_[axis] - 1) * strides_[axis];
  return last + 1;
}

Share<Tensor> new_tensor(Context& context, const Shape& shape, Contents contents) {
  const auto bytes = static_cast<std::size_t>(shape.elements()) * sizeof(float);
  Share<Storage> storage = make<Storage>(Share<Context>::of(&context), bytes, contents);
  return make<Tensor>(std::move(storage), shape, shape.row_major(), 0);
}

Share<Tensor> view_of(const Tensor& tensor, const Shape& shape, const Shape& strides, std::int64_t offset) {
  return make<Tensor>(tensor.storage(), shape, strides, offset);
}

}  // namespace hexapla
