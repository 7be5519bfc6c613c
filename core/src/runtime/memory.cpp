#include "runtime/memory.hpp"

#include <algorithm>
#include <bit>

#include "runtime/call.hpp"
#include "runtime/context.hpp"

namespace hexapla {

namespace {

// Smaller blocks come from the C library, which keeps them itself; larger ones would be mapped, faulted in and unmapped in every step.
constexpr std::size_t smallest_kept_bytes = std::size_t{64} << 10;

// AddressSanitizer must see each free.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool keep_blocks = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool keep_blocks = false;
#else
constexpr bool keep_blocks = true;
#endif
#else
constexpr bool keep_blocks = true;
#endif

void raise_peak(std::atomic<std::int64_t>& peak, std::int64_t live) noexcept {
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < live && !peak.compare_exchange_weak(seen, live, std::memory_order_relaxed)) {
  }
}

void count_in(MemoryAccount& account, std::int64_t bytes, bool spilled) noexcept {
  if (spilled) account.spilled_bytes.fetch_add(bytes, std::memory_order_relaxed);
  raise_peak(account.peak_bytes, account.live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

}  // namespace

MemoryAccount& process_account() noexcept {
  static auto* const account = new MemoryAccount;
  return *account;
}

bool MemoryAccount::take(std::int64_t bytes, bool spilled) noexcept {
  const std::int64_t limit = limit_bytes.load(std::memory_order_relaxed);
  if (limit == 0 || spilled) {
    count_in(*this, bytes, spilled);
  } else {
    std::int64_t live = live_bytes.load(std::memory_order_relaxed);
    do {
      const std::int64_t on_device = live - spilled_bytes.load(std::memory_order_relaxed);
      if (bytes > limit - on_device) return false;
    } while (!live_bytes.compare_exchange_weak(live, live + bytes, std::memory_order_relaxed));
    raise_peak(peak_bytes, live + bytes);
  }
  count_in(process_account(), bytes, spilled);
  return true;
}

void MemoryAccount::give_back(std::int64_t bytes, bool spilled) noexcept {
  for (MemoryAccount* account : {this, &process_account()}) {
    // Spilled bytes first: in between, the device must look fuller, never emptier.
    if (spilled) account->spilled_bytes.fetch_sub(bytes);
    account->live_bytes.fetch_sub(bytes);
  }
}

void MemoryAccount::fill(hxp_memory& out) const noexcept {
  const auto read = [](const std::atomic<std::int64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  out.live_bytes = read(live_bytes);
  out.peak_bytes = read(peak_bytes);
  out.limit_bytes = read(limit_bytes);
  out.live_handles = read(live_handles);
  out.spilled_bytes = read(spilled_bytes);
  out.allocations = read(allocations);
  out.pressure_calls = read(pressure_calls);
  out.pressure_rescues = read(pressure_rescues);
  out.stale_calls = 0;
  out.foreign_calls = read(foreign_calls);
  out.injected_failures = read(injected_failures);
}

// Eight classes to each power of two: at most an eighth is wasted, and a step's shapes fall into few classes.
std::size_t BlockCache::block_bytes(std::size_t bytes) noexcept {
  if (bytes < smallest_kept_bytes) return (bytes + 63) / 64 * 64;
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

std::byte* BlockCache::take(std::size_t bytes) noexcept {
  if (bytes < smallest_kept_bytes) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(block_bytes(bytes));
  if (found == blocks_.end() || found->second.empty()) return nullptr;
  std::byte* memory = found->second.back();
  found->second.pop_back();
  kept_bytes_ -= static_cast<std::int64_t>(found->first);
  return memory;
}

void BlockCache::put(std::byte* memory, std::size_t bytes, std::int64_t room) noexcept {
  const std::size_t block = block_bytes(bytes);
  if (keep_blocks && bytes >= smallest_kept_bytes) {
    const std::lock_guard lock(mutex_);
    if (kept_bytes_ + static_cast<std::int64_t>(block) <= room) {
      try {
        blocks_[block].push_back(memory);
        kept_bytes_ += static_cast<std::int64_t>(block);
        return;
      } catch (const std::bad_alloc&) {  // no room even for the note: the block goes back to the device
      }
    }
  }
  device_.free(memory, block);
}

void BlockCache::trim(std::int64_t room) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto size = blocks_.rbegin(); size != blocks_.rend() && kept_bytes_ > std::max<std::int64_t>(room, 0); ++size) {
    while (!size->second.empty() && kept_bytes_ > std::max<std::int64_t>(room, 0)) {
      device_.free(size->second.back(), size->first);
      size->second.pop_back();
      kept_bytes_ -= static_cast<std::int64_t>(size->first);
    }
  }
}

Buffer::Buffer(Context& context, std::size_t bytes, Contents contents) {
  if (bytes > 0) context.allocate(*this, bytes, contents);
}

Buffer::Buffer(Buffer&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      host_(std::exchange(other.host_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer old(std::move(*this));
  context_ = std::exchange(other.context_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  host_ = std::exchange(other.host_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

Buffer::~Buffer() {
  if (context_) context_->free(*this);
}

}  // namespace hexapla
