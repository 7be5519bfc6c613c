// Device memory that is counted: the account of a context (and the process's sum), and Buffer, the one way to get such memory. Separate
// from the device, which only hands out bytes, and from the context, which decides what to do when there are none. Live bytes are exactly
// the bytes asked for by buffers that exist now; freed blocks kept for reuse are not counted, and go first when memory is short.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "hexapla/context.h"
#include "runtime/device.hpp"

namespace hexapla {

class Context;

/// Counters that any thread may change and read.
struct MemoryAccount {
  std::atomic<std::int64_t> live_bytes{0};
  std::atomic<std::int64_t> peak_bytes{0};
  std::atomic<std::int64_t> limit_bytes{0};
  std::atomic<std::int64_t> live_handles{0};
  std::atomic<std::int64_t> spilled_bytes{0};
  std::atomic<std::int64_t> allocations{0};
  std::atomic<std::int64_t> pressure_calls{0};
  std::atomic<std::int64_t> pressure_rescues{0};
  std::atomic<std::int64_t> foreign_calls{0};
  std::atomic<std::int64_t> injected_failures{0};

  /// Count bytes in, unless that would pass the limit; spilled bytes pass no limit.
  bool take(std::int64_t bytes, bool spilled) noexcept;
  void give_back(std::int64_t bytes, bool spilled) noexcept;
  void fill(hxp_memory& out) const noexcept;
};

/// The sum over all contexts; never destroyed.
MemoryAccount& process_account() noexcept;

/// Freed blocks of one context by size class. Kept bytes and live bytes together never exceed the peak of the live bytes.
class BlockCache {
 public:
  explicit BlockCache(Device& device) noexcept : device_(device) {}
  ~BlockCache() { trim(0); }
  std::byte* take(std::size_t bytes) noexcept;
  void put(std::byte* memory, std::size_t bytes, std::int64_t room) noexcept;
  /// Free blocks, largest first, until no more than room bytes are kept.
  void trim(std::int64_t room) noexcept;
  /// What is really allocated for a buffer of so many bytes.
  static std::size_t block_bytes(std::size_t bytes) noexcept;

 private:
  Device& device_;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> blocks_;
  std::int64_t kept_bytes_ = 0;
};

enum class Contents { undefined, zeros };

/// Counted device memory. It must not outlive its context: who keeps one beyond a call holds a Share<Context> too (Storage does).
class Buffer {
 public:
  Buffer() noexcept = default;
  /// Throws HXP_OUT_OF_MEMORY after the pressure hook had its turns. bytes may be 0 (no memory, nothing counted). Works in a call, on
  /// the caller's thread or in its job on worker 0; not inside a tile.
  Buffer(Context& context, std::size_t bytes, Contents contents = Contents::undefined);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  template <class T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }
  std::size_t bytes() const noexcept { return bytes_; }
  /// Lives in host memory past the limit: Storage copies it in and out around each call that touches it.
  bool spilled() const noexcept { return host_ != nullptr; }
  std::byte* host() const noexcept { return host_; }

 private:
  friend class Context;
  Context* context_ = nullptr;
  std::byte* data_ = nullptr;
  std::byte* host_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hexapla
