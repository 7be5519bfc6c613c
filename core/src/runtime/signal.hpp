// A 32-bit word that threads set and wait for: a short spin, then sleep in the kernel (futex). Separate because the hand-over, the phases
// and their ends are all made of it. The setter pays a system call only if somebody sleeps.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace hexapla {

inline void pause_processor() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Signal {
 public:
  std::uint32_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }
  /// Change the value with nobody to wake.
  void reset(std::uint32_t value) noexcept { value_.store(value, std::memory_order_seq_cst); }

  void set(std::uint32_t value, int wake = INT_MAX) noexcept {
    value_.store(value, std::memory_order_seq_cst);
    notify(wake);
  }
  std::uint32_t add(std::uint32_t increment) noexcept { return value_.fetch_add(increment, std::memory_order_seq_cst) + increment; }
  void notify(int wake = INT_MAX) noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) {
      syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&value_), FUTEX_WAKE_PRIVATE, wake, nullptr, nullptr, 0);
    }
  }

  /// Wait until ready(value) and return that value; spin for so long before sleeping. Spinning yields often, so that more threads than
  /// processors do not starve each other.
  template <class Ready>
  std::uint32_t wait(Ready ready, std::chrono::nanoseconds spin) noexcept {
    if (spin.count() > 0) {
      const auto end = std::chrono::steady_clock::now() + spin;
      do {
        for (int turn = 0; turn < 64; ++turn) {
          const std::uint32_t seen = value();
          if (ready(seen)) return seen;
          pause_processor();
        }
        sched_yield();
      } while (std::chrono::steady_clock::now() < end);
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    std::uint32_t seen = value();
    while (!ready(seen)) {
      syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&value_), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      seen = value();
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    return seen;
  }

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace hexapla
