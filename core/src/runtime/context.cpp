#include "runtime/context.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "runtime/call.hpp"
#include "runtime/faults.hpp"
#include "runtime/handles.hpp"
#include "runtime/tensor.hpp"

namespace hexapla {

namespace {

std::atomic<std::uint64_t> contexts_made{0};

// Past this, a zeroed block is cheaper fresh from the system, which zeroes a page when it is first touched, than kept and cleared.
constexpr std::size_t fresh_zeros_bytes = std::size_t{1} << 20;

thread_local ByteTally* tally_of_thread = nullptr;

// The living contexts by number, for records of calls that name one only through a released id. Never destroyed, as the registry of handles.
struct Living {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Context*> contexts;
};

Living& living() {
  static auto* const instance = new Living;
  return *instance;
}

const hxp_context_options& checked(const hxp_context_options& options) {
  require((options.flags & ~static_cast<std::uint32_t>(HXP_THREADS_OWNER | HXP_SPILL)) == 0, "flags ", options.flags,
          " has bits that mean nothing");
  require(options.threads >= 1 && options.threads <= 256, "threads ", options.threads, " is not 1 to 256");
  require(options.memory_limit <= INT64_MAX, "memory_limit ", options.memory_limit, " is past 63 bits");
  return options;
}

std::uint64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Count an event in a context's account and in the process's.
void count(MemoryAccount& account, std::atomic<std::int64_t> MemoryAccount::*counter) noexcept {
  (account.*counter).fetch_add(1, std::memory_order_relaxed);
  (process_account().*counter).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::uint32_t thread_id() noexcept { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

Context::Context(std::string_view device, const hxp_context_options& options)
    : Object(kind),
      device_name_(device),
      options_(checked(options)),
      maker_thread_(thread_id()),
      number_(contexts_made.fetch_add(1) + 1),
      device_(open_device(device)),
      cache_(*device_),
      ledger_(options.ledger_path ? Ledger::open(options.ledger_path) : nullptr),
      workers_(options.threads) {
  account_.limit_bytes.store(static_cast<std::int64_t>(options.memory_limit));
  if (!ledger_) return;
  ledger_->limit(account_.limit_bytes.load());
  const std::lock_guard lock(living().mutex);
  living().contexts.emplace(number_, this);
}

Context::~Context() {
  if (!ledger_) return;
  const std::lock_guard lock(living().mutex);
  living().contexts.erase(number_);
}

void Context::last_id_gone() noexcept {
  close_first(*this);
  drop_scratch(*this);
}

void Context::mark(std::uint64_t update) {
  update_.store(update, std::memory_order_relaxed);
  begin_update(*this);
}

void Context::admit(std::uint32_t thread) const {
  if ((options_.flags & HXP_THREADS_OWNER) && thread != maker_thread_) {
    fail(HXP_WRONG_THREAD, "the context was made by thread ", maker_thread_, " for itself alone; this is thread ", thread);
  }
  if (thread == hook_thread_.load()) {
    fail(HXP_BUSY, "called from inside the context's pressure hook; only releases and memory queries work there");
  }
}

void Context::count_call(std::uint32_t thread) noexcept {
  if (thread != maker_thread_) count(account_, &MemoryAccount::foreign_calls);
}

void Context::fail_if_injected() {
  const hxp_status status = fail_next_.exchange(HXP_OK, std::memory_order_relaxed);
  if (status == HXP_OK) return;
  count(account_, &MemoryAccount::injected_failures);
  fail(status, "injected ", hxp_status_name(status));
}

void Context::reset_peak() noexcept { account_.peak_bytes.store(account_.live_bytes.load()); }

void Context::fail_allocation(std::uint64_t nth, bool persistent) noexcept {
  const std::lock_guard lock(failure_mutex_);
  fail_in_ = nth;
  fail_for_good_ = persistent;
}

bool Context::allocation_is_to_fail() noexcept {
  const std::lock_guard lock(failure_mutex_);
  if (fail_in_ == 0) return false;
  if (fail_in_ > 1) {
    --fail_in_;
    return false;
  }
  if (!fail_for_good_) fail_in_ = 0;
  count(account_, &MemoryAccount::injected_failures);
  return true;
}

void Context::run(FunctionRef<void(Team&)> job) {
  ByteTally* const callers = tally_of_thread;
  workers_.run([&](Team& team) {
    ByteTally* const before = std::exchange(tally_of_thread, callers);  // what the job allocates counts to the call
    try {
      job(team);
    } catch (...) {
      tally_of_thread = before;
      throw;
    }
    tally_of_thread = before;
  });
}

void Context::record(std::uint16_t operation, std::uint64_t handle, std::int64_t bytes, hxp_status status,
                     std::uint32_t thread) noexcept {
  if (!ledger_) return;
  hxp_ledger_record record{};
  record.time_ns = now_ns();
  record.handle = handle;
  record.bytes = bytes;
  record.live_bytes = account_.live_bytes.load();
  record.update = update_.load(std::memory_order_relaxed);
  record.context = number_;
  record.thread = thread;
  record.operation = operation;
  record.status = static_cast<std::uint16_t>(status);
  ledger_->write(record);
  const MemoryAccount& process = process_account();
  ledger_->totals(process.live_bytes.load(), process.peak_bytes.load(), process.live_handles.load());
}

void Context::record_in(std::uint64_t number, std::uint16_t operation, std::uint64_t handle, hxp_status status) noexcept {
  const std::lock_guard lock(living().mutex);
  const auto found = living().contexts.find(number);
  if (found != living().contexts.end()) found->second->record(operation, handle, 0, status, thread_id());
}

// ---- memory

void Context::allocate(Buffer& buffer, std::size_t bytes, Contents contents) {
  if (bytes > static_cast<std::size_t>(INT64_MAX) / 2) fail_allocation(bytes);
  const bool injected = allocation_is_to_fail();
  const auto attempt = [&] { return !injected && try_allocate(buffer, bytes, contents); };
  if (attempt()) return;
  if (!injected && ((options_.flags & HXP_SPILL) || faulty(Fault::spill_silently)) && spill(buffer, bytes, contents)) return;
  for (std::uint32_t retry = 0; retry < options_.pressure_retries && relieve(bytes); ++retry) {
    if (attempt()) {
      count(account_, &MemoryAccount::pressure_rescues);
      return;
    }
  }
  fail_allocation(bytes);
}

void Context::fail_allocation(std::size_t bytes) {
  const std::int64_t limit = account_.limit_bytes.load();
  fail(HXP_OUT_OF_MEMORY, "need ", bytes, " bytes, live ", account_.live_bytes.load(), ", limit ",
       limit == 0 ? std::string("none") : std::to_string(limit), ", live handles ", account_.live_handles.load());
}

bool Context::try_allocate(Buffer& buffer, std::size_t bytes, Contents contents) noexcept {
  const auto signed_bytes = static_cast<std::int64_t>(bytes);
  if (neighbour_leaves_no_room(*this, bytes) || !account_.take(signed_bytes, false)) return false;
  std::byte* const memory = block(bytes, contents);
  if (!memory) {
    account_.give_back(signed_bytes, false);
    return false;
  }
  ByteTally::count(signed_bytes);
  count(account_, &MemoryAccount::allocations);
  buffer.context_ = this;
  buffer.data_ = memory;
  buffer.bytes_ = bytes;
  return true;
}

// Memory from the kept blocks or the device. The bytes are counted already, so that kept blocks make room for them here.
std::byte* Context::block(std::size_t bytes, Contents contents) noexcept {
  const bool zeros = contents == Contents::zeros;
  if (!(zeros && bytes >= fresh_zeros_bytes)) {
    if (std::byte* const kept = cache_.take(bytes)) {
      if (zeros) device_->zero(kept, bytes);
      return kept;
    }
  }
  cache_.trim(cache_room());
  std::byte* memory = device_->allocate(BlockCache::block_bytes(bytes), zeros);
  if (memory) return memory;
  cache_.trim(0);
  return device_->allocate(BlockCache::block_bytes(bytes), zeros);
}

std::int64_t Context::cache_room() const noexcept { return account_.peak_bytes.load() - account_.live_bytes.load(); }

// Host memory stands in for the device's: the buffer lives in `host_`, and `data_` is where each call really copies it to and from.
bool Context::spill(Buffer& buffer, std::size_t bytes, Contents contents) noexcept {
  const auto signed_bytes = static_cast<std::int64_t>(bytes);
  std::byte* const memory = block(bytes, contents);
  if (!memory) return false;
  auto* const host = static_cast<std::byte*>(contents == Contents::zeros ? std::calloc(bytes, 1) : std::malloc(bytes));
  if (!host) {
    device_->free(memory, BlockCache::block_bytes(bytes));
    return false;
  }
  account_.take(signed_bytes, true);
  ByteTally::count(signed_bytes);
  count(account_, &MemoryAccount::allocations);
  buffer.context_ = this;
  buffer.data_ = memory;
  buffer.host_ = host;
  buffer.bytes_ = bytes;
  return true;
}

void Context::free(Buffer& buffer) noexcept {
  const bool spilled = buffer.host_ != nullptr;
  std::free(buffer.host_);
  account_.give_back(static_cast<std::int64_t>(buffer.bytes_), spilled);
  ByteTally::count(-static_cast<std::int64_t>(buffer.bytes_));
  cache_.put(buffer.data_, buffer.bytes_, cache_room());
}

// One turn of the pressure hook, on the caller's thread, which holds nothing but its place in the row of calls.
bool Context::relieve(std::size_t bytes) {
  if (!options_.pressure_hook || faulty(Fault::no_pressure_hook)) return false;
  bool again = false;
  workers_.on_caller([&] {
    [[maybe_unused]] const HookLock lock;
    const std::uint32_t thread = thread_id();
    count(account_, &MemoryAccount::pressure_calls);
    hook_thread_.store(thread);
    again = options_.pressure_hook(options_.pressure_payload, bytes, static_cast<std::uint64_t>(account_.live_bytes.load()),
                                   options_.memory_limit) != 0;
    hook_thread_.store(0);
    record(HXP_OPERATION_PRESSURE, 0, static_cast<std::int64_t>(bytes), HXP_OK, thread);
  });
  return again && !faulty(Fault::pressure_answer_ignored);
}

// ---- spilled storages in a call

void Context::record_spill(std::size_t bytes) noexcept {
  if (has_faults && !(options_.flags & HXP_SPILL)) return;  // nobody asked for it, and nobody says so
  record(HXP_OPERATION_SPILL, 0, static_cast<std::int64_t>(bytes), HXP_OK, call_thread_);
}

void Context::page_in(Storage& storage) {
  const std::lock_guard lock(paged_mutex_);
  if (storage.paged_) return;
  if (paged_.empty()) begin_bus(*this);
  paged_.push_back(&storage);
  storage.paged_ = true;
  device_->copy_in(storage.buffer_.data(), storage.buffer_.host(), storage.bytes());
  record_spill(storage.bytes());
}

void Context::page_out() noexcept {
  const std::lock_guard lock(paged_mutex_);
  for (Storage* storage : paged_) {
    device_->copy_out(storage->buffer_.host(), storage->buffer_.data(), storage->bytes());
    record_spill(storage->bytes());
    storage->paged_ = false;
  }
  if (!paged_.empty()) end_bus(*this);
  paged_.clear();
}

void Context::forget(Storage& storage) noexcept {
  const std::lock_guard lock(paged_mutex_);
  if (storage.paged_) std::erase(paged_, &storage);
}

// ---- calls

ByteTally::ByteTally() noexcept : outer_(std::exchange(tally_of_thread, this)) {}
ByteTally::~ByteTally() { tally_of_thread = outer_; }
void ByteTally::count(std::int64_t bytes) noexcept {
  if (tally_of_thread) tally_of_thread->bytes_ += bytes;
}

CallScope::CallScope(Context& context, std::uint16_t operation, std::uint64_t handle, Waits waits)
    : context_(Share<Context>::of(&context)), handle_(handle), operation_(operation), thread_(thread_id()) {
  context.count_call(thread_);
  if (waits == Waits::no) return;
  // A call that will be refused must not wait: its own thread may hold the lock (a call from the pressure hook).
  const bool refused = thread_ == context.hook_thread_.load() ||
                       ((context.options_.flags & HXP_THREADS_OWNER) && thread_ != context.maker_thread_);
  if (refused) return;
  lock_ = std::unique_lock(context.call_mutex_);
  context.call_thread_ = thread_;
}

void CallScope::admit() {
  context_->admit(thread_);
  if (operation_ != HXP_OPERATION_CONTEXT_FAIL) context_->fail_if_injected();
  if (operation_ == HXP_OPERATION_TENSOR_READ) begin_reading(handle_);
}

CallScope::~CallScope() {
  if (operation_ == HXP_OPERATION_TENSOR_READ) end_reading(handle_);
  if (lock_.owns_lock()) context_->page_out();
  context_->record(operation_, handle_, tally_.bytes(), status_, thread_);
}

void CallScope::require_here(const Context* home, const char* name) const {
  require(home == context_.get(), name, " lives in another context than the call's first argument");
}

}  // namespace hexapla
