// One recorded call on a context, as every shim that computes opens it: takes the call lock, asks whether the call may be made now (owner
// thread, pressure hook, injected failure), and writes the ledger record at its end. Separate from Context so that shims see this and
// little else. Releases and queries must not use it (they never wait); they call Context::record.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "runtime/context.hpp"
#include "runtime/handles.hpp"
#include "runtime/tensor.hpp"

namespace hexapla {

/// Bytes taken (> 0) and given back (< 0) by the calling thread while one of these stands; the ledger's `bytes`. Kept per thread for the
/// length of a call only.
class ByteTally {
 public:
  ByteTally() noexcept;
  ~ByteTally();
  ByteTally(const ByteTally&) = delete;
  ByteTally& operator=(const ByteTally&) = delete;
  std::int64_t bytes() const noexcept { return bytes_; }
  static void count(std::int64_t bytes) noexcept;

 private:
  friend class Context;
  std::int64_t bytes_ = 0;
  ByteTally* outer_;
};

/// Whether a call takes its turn in the context's row of calls. Those that only hand out ids need not.
enum class Waits { no, yes };

class CallScope {
 public:
  /// handle: the first one used; publish() replaces it in the record.
  CallScope(Context& context, std::uint16_t operation, std::uint64_t handle, Waits waits = Waits::yes);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  /// Ask whether the call may be made (HXP_WRONG_THREAD, HXP_BUSY, an injected status), then run the body; the status of what it throws
  /// goes into the record, and in place of the first handle one that was used after its release.
  template <class Body>
  void perform(Body&& body) {
    try {
      admit();
      body();
      status_ = HXP_OK;
    } catch (Error& error) {
      status_ = error.status;
      if (error.released) handle_ = std::exchange(error.released, 0);
      throw;
    } catch (const std::bad_alloc&) {
      status_ = HXP_OUT_OF_MEMORY;
      throw;
    }
  }

  Context& context() noexcept { return *context_; }
  const backends::Table& table() noexcept { return context_->table(); }

  /// Hand a job to the workers: once per op, once per backward.
  void run(FunctionRef<void(Team&)> job) { context_->run(job); }

  /// A share of an argument that must live in this context; `name` is the parameter's name in the header.
  template <class T>
  Share<T> argument(std::uint64_t handle, const char* name) {
    Share<T> object = share<T>(handle);
    require_here(object->home(), name);
    return object;
  }

  /// A new contiguous tensor of this context.
  Share<Tensor> tensor(const Shape& shape, Contents contents = Contents::undefined) { return new_tensor(*context_, shape, contents); }

  /// A new id for the result. Do it last: nothing may throw afterwards.
  std::uint64_t publish(Share<Object> result) {
    handle_ = hexapla::publish(std::move(result));
    return handle_;
  }

 private:
  void admit();
  void require_here(const Context* home, const char* name) const;

  Share<Context> context_;
  std::unique_lock<std::mutex> lock_;
  ByteTally tally_;
  std::uint64_t handle_;
  hxp_status status_ = HXP_INTERNAL;
  std::uint16_t operation_;
  std::uint32_t thread_;
};

}  // namespace hexapla
