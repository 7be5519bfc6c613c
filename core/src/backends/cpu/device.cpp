#include "backends/cpu/device.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "backends/cpu/table.hpp"

namespace hexapla::backends::cpu {

namespace {

// From here on a block is mapped by itself: zeros come free of charge, and what is freed goes back to the system at once.
constexpr std::size_t mapped_bytes = std::size_t{1} << 20;
constexpr std::size_t alignment = 64;

class CpuDevice final : public Device {
 public:
  std::byte* allocate(std::size_t bytes, bool zeros) noexcept override {
    if (bytes >= mapped_bytes) {
      void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return map == MAP_FAILED ? nullptr : static_cast<std::byte*>(map);
    }
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
    if (memory && zeros) std::memset(memory, 0, bytes);
    return memory;
  }
  void free(std::byte* memory, std::size_t bytes) noexcept override {
    if (bytes >= mapped_bytes) {
      munmap(memory, bytes);
    } else {
      std::free(memory);
    }
  }
  void zero(std::byte* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
  void copy_in(std::byte* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void copy_out(void* host, const std::byte* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }
  void synchronize() override {}
  std::byte* host_view(std::byte* memory) noexcept override { return memory; }
  const Table& table() const noexcept override { return cpu::table(); }
};

}  // namespace

std::unique_ptr<Device> open() { return std::make_unique<CpuDevice>(); }

}  // namespace hexapla::backends::cpu
