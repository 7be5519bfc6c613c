#include "runtime/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/sha256.hpp"

namespace hexapla {

namespace {

// The span of a view as host memory: the device's own where the host can reach it, else a copy that goes back at the end if changed.
class HostSpan {
 public:
  HostSpan(const Tensor& tensor, bool changes) : device_(tensor.context().device()), changes_(changes) {
    bytes_ = static_cast<std::size_t>(tensor.span()) * sizeof(float);
    if (bytes_ == 0) return;
    memory_ = reinterpret_cast<std::byte*>(tensor.data());
    if (std::byte* const view = device_.host_view(memory_)) {
      host_ = reinterpret_cast<float*>(view);
      return;
    }
    staged_.resize(static_cast<std::size_t>(tensor.span()));
    device_.copy_out(staged_.data(), memory_, bytes_);
    host_ = staged_.data();
  }
  float* data() const noexcept { return host_; }
  void commit() {
    if (changes_ && !staged_.empty()) device_.copy_in(memory_, staged_.data(), bytes_);
  }

 private:
  Device& device_;
  std::byte* memory_ = nullptr;
  float* host_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<float> staged_;
  bool changes_;
};

// Call f(place, count, stride) for each run of the last axis, in row-major order.
template <class F>
void for_rows(const Tensor& tensor, float* base, F&& f) {
  if (tensor.elements() == 0) return;
  const Shape& shape = tensor.shape();
  const Shape& strides = tensor.strides();
  const std::uint32_t last = tensor.rank() - 1;
  std::array<std::int64_t, HXP_RANK_MAX> index{};
  for (;;) {
    std::int64_t place = 0;
    for (std::uint32_t axis = 0; axis < last; ++axis) place += index[axis] * strides[axis];
    f(base + place, shape[last], strides[last]);
    std::uint32_t axis = last;
    for (;; --axis) {
      if (axis == 0) return;
      if (++index[axis - 1] < shape[axis - 1]) break;
      index[axis - 1] = 0;
    }
  }
}

template <class F>
void change(CallScope& call, const Tensor& tensor, F&& f) {
  HostSpan span(tensor, true);
  call.run([&](Team&) {
    for_rows(tensor, span.data(), [&](float* row, std::int64_t count, std::int64_t stride) {
      for (std::int64_t i = 0; i < count; ++i) row[i * stride] = f(row[i * stride]);
    });
  });
  span.commit();
}

}  // namespace

void read(const Tensor& tensor, void* out) {
  if (tensor.elements() == 0) return;
  if (tensor.contiguous()) {
    tensor.context().device().copy_out(out, reinterpret_cast<const std::byte*>(tensor.data()), tensor.bytes());
    return;
  }
  const HostSpan span(tensor, false);
  auto* next = static_cast<std::byte*>(out);  // the caller's buffer may have any alignment
  for_rows(tensor, span.data(), [&](const float* row, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i, next += sizeof(float)) std::memcpy(next, row + i * stride, sizeof(float));
  });
}

void write(const Tensor& tensor, const void* data) {
  if (tensor.elements() == 0) return;
  if (tensor.contiguous()) {
    tensor.context().device().copy_in(reinterpret_cast<std::byte*>(tensor.data()), data, tensor.bytes());
    return;
  }
  HostSpan span(tensor, true);
  const auto* next = static_cast<const std::byte*>(data);
  for_rows(tensor, span.data(), [&](float* row, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i, next += sizeof(float)) std::memcpy(row + i * stride, next, sizeof(float));
  });
  span.commit();
}

void fill(CallScope& call, const Tensor& tensor, float value) {
  change(call, tensor, [value](float) { return value; });
}

void add_in_place(CallScope& call, const Tensor& tensor, float value) {
  change(call, tensor, [value](float element) { return element + value; });
}

std::string digest(std::span<const Share<Tensor>> tensors) {
  Sha256 sha;
  std::vector<float> dense;
  for (const Share<Tensor>& tensor : tensors) {
    if (tensor->elements() == 0) continue;
    if (tensor->contiguous()) {
      const HostSpan span(*tensor, false);
      sha.update(span.data(), tensor->bytes());
      continue;
    }
    dense.resize(static_cast<std::size_t>(tensor->elements()));
    read(*tensor, dense.data());
    sha.update(dense.data(), tensor->bytes());
  }
  return sha.hex();
}

}  // namespace hexapla
