// What a device gives the runtime: raw memory and copies, and the way to its table of operations. Separate so that the runtime knows no
// backend. It must not count anything: memory.hpp does.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace hexapla {

namespace backends {
struct Table;  // backends/table.hpp: the operations
}

class Device {
 public:
  virtual ~Device() = default;
  /// At least 64-byte aligned; nullptr when the device is full. bytes > 0.
  virtual std::byte* allocate(std::size_t bytes, bool zeros) noexcept = 0;
  virtual void free(std::byte* memory, std::size_t bytes) noexcept = 0;
  virtual void zero(std::byte* memory, std::size_t bytes) = 0;
  virtual void copy_in(std::byte* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const std::byte* device, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// Where device memory can be read and written by the host as it is (cpu); nullptr: only by copies.
  virtual std::byte* host_view(std::byte* memory) noexcept = 0;
  virtual const backends::Table& table() const noexcept = 0;
};

/// "cpu:N", "cuda:N". Throws HXP_INVALID_ARGUMENT (not a device's name), HXP_DEVICE (no such device).
std::unique_ptr<Device> open_device(std::string_view name);

}  // namespace hexapla
