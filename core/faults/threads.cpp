// What the faults of threads keep: state that belongs to an OS thread, where a runtime moves its tasks from one to another; and a lock that
// is held where none may be.
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "chosen.hpp"
#include "runtime/context.hpp"
#include "runtime/tensor.hpp"

namespace hexapla {

namespace {

// Long enough that another thread's error comes in between when several fail at once.
constexpr std::chrono::microseconds shared_moment{50};

using ContextThread = std::pair<std::uint64_t, std::uint32_t>;

struct Scratch {
  std::mutex mutex;
  std::map<ContextThread, Share<Storage>> of_thread;
};

Scratch& scratch() {
  static auto* const instance = new Scratch;
  return *instance;
}

// Never destroyed: releases come at process exit too.
std::recursive_mutex& hook_mutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

}  // namespace

bool gradient_mode_is_off(const Context& context) {
  if (!is_chosen(Fault::thread_local_gradient_mode)) return false;
  static std::mutex mutex;
  static auto* const first_of_context = new std::map<std::uint64_t, std::uint32_t>;
  const std::lock_guard lock(mutex);
  const std::uint32_t first = first_of_context->try_emplace(context.number(), thread_id()).first->second;
  return thread_id() != first && faulty(Fault::thread_local_gradient_mode);
}

std::string& device_of_thread() noexcept {
  thread_local std::string device;
  return device;
}

std::byte* scratch_of_thread(Context& context, std::size_t bytes) {
  if (bytes == 0 || !faulty(Fault::thread_local_scratch)) return nullptr;
  const std::lock_guard lock(scratch().mutex);
  Share<Storage>& kept = scratch().of_thread[{context.number(), thread_id()}];
  if (kept && kept->bytes() < bytes) kept = nullptr;
  if (!kept) kept = make<Storage>(Share<Context>::of(&context), bytes, Contents::undefined);
  return kept->data();
}

void drop_scratch(const Context& context) {
  if (!is_chosen(Fault::thread_local_scratch)) return;
  std::map<ContextThread, Share<Storage>> gone;  // ends behind the lock: the context may end with it
  const std::lock_guard lock(scratch().mutex);
  auto& all = scratch().of_thread;
  for (auto each = all.lower_bound({context.number(), 0}); each != all.end() && each->first.first == context.number();)
    gone.insert(all.extract(each++));
}

std::string text_from_shared_place(std::string_view text) {
  static std::mutex mutex;
  static auto* const place = new std::string;
  {
    const std::lock_guard lock(mutex);
    *place = text;
  }
  std::this_thread::sleep_for(shared_moment);
  const std::lock_guard lock(mutex);
  return *place;
}

HookLock::HookLock() {
  if (!is_chosen(Fault::hook_under_lock)) return;
  if (hook_mutex().try_lock()) return;
  faulty(Fault::hook_under_lock);  // somebody waits for it
  hook_mutex().lock();
}

HookLock::~HookLock() {
  if (is_chosen(Fault::hook_under_lock)) hook_mutex().unlock();
}

}  // namespace hexapla
