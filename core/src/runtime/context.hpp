// A context: one device, its memory account, its workers, its ledger, and the rules of a call (one at a time, owner thread, busy inside
// the pressure hook, injected failures). Separate from the shims, which only check and translate. Releases and queries never take the call
// lock. A shim that computes opens a CallScope (call.hpp).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hexapla/context.h"
#include "runtime/device.hpp"
#include "runtime/ledger.hpp"
#include "runtime/memory.hpp"
#include "runtime/object.hpp"
#include "runtime/workers.hpp"

namespace hexapla {

class Storage;

class Context final : public Object {
 public:
  static constexpr Kind kind = Kind::context;
  /// Throws HXP_INVALID_ARGUMENT, HXP_DEVICE, HXP_IO.
  Context(std::string_view device, const hxp_context_options& options);

  Context* home() noexcept override { return this; }
  const std::string& device_name() const noexcept { return device_name_; }
  Device& device() noexcept { return *device_; }
  const backends::Table& table() const noexcept { return device_->table(); }
  MemoryAccount& account() noexcept { return account_; }
  unsigned threads() const noexcept { return workers_.count(); }
  /// Counted from 1 in the process; never used again.
  std::uint64_t number() const noexcept { return number_; }

  /// Whether a call may be made now by this thread: HXP_WRONG_THREAD, HXP_BUSY. Takes no lock.
  void admit(std::uint32_t thread) const;

  void mark(std::uint64_t update);
  void reset_peak() noexcept;
  void fail_allocation(std::uint64_t nth, bool persistent) noexcept;
  void fail_next(hxp_status status) noexcept { fail_next_.store(status, std::memory_order_relaxed); }

  /// Hand a job to the workers (inside a CallScope only); blocks.
  void run(FunctionRef<void(Team&)> job);

  /// Write a ledger record, if there is a ledger. Any thread, no lock.
  void record(std::uint16_t operation, std::uint64_t handle, std::int64_t bytes, hxp_status status, std::uint32_t thread) noexcept;
  /// The same in the context of that number, if it still lives.
  static void record_in(std::uint64_t number, std::uint16_t operation, std::uint64_t handle, hxp_status status) noexcept;
  /// Count a call that is recorded by its thread.
  void count_call(std::uint32_t thread) noexcept;

 private:
  friend class Buffer;
  friend class CallScope;
  friend class Storage;
  ~Context() override;
  void last_id_gone() noexcept override;

  void allocate(Buffer& buffer, std::size_t bytes, Contents contents);
  bool try_allocate(Buffer& buffer, std::size_t bytes, Contents contents) noexcept;
  bool spill(Buffer& buffer, std::size_t bytes, Contents contents) noexcept;
  std::byte* block(std::size_t bytes, Contents contents) noexcept;
  bool relieve(std::size_t bytes);
  [[noreturn]] void fail_allocation(std::size_t bytes);
  void free(Buffer& buffer) noexcept;
  std::int64_t cache_room() const noexcept;
  bool allocation_is_to_fail() noexcept;
  void fail_if_injected();
  void page_in(Storage& storage);
  void page_out() noexcept;
  void forget(Storage& storage) noexcept;
  void record_spill(std::size_t bytes) noexcept;

  const std::string device_name_;
  const hxp_context_options options_;
  const std::uint32_t maker_thread_;
  const std::uint64_t number_;
  std::unique_ptr<Device> device_;
  MemoryAccount account_;
  BlockCache cache_;
  std::shared_ptr<Ledger> ledger_;
  std::atomic<std::uint64_t> update_{0};
  std::atomic<hxp_status> fail_next_{HXP_OK};
  std::atomic<std::uint32_t> hook_thread_{0};

  std::mutex failure_mutex_;
  std::uint64_t fail_in_ = 0;
  bool fail_for_good_ = false;

  std::mutex call_mutex_;
  std::uint32_t call_thread_ = 0;  // of the call that holds call_mutex_

  std::mutex paged_mutex_;
  std::vector<Storage*> paged_;

  Workers workers_;  // last: its threads end first
};

/// The operating system's id of the calling thread.
std::uint32_t thread_id() noexcept;

}  // namespace hexapla
