// What the faults of owners and of memory keep: calls that hold no share, contexts that end before what lives in them, and a device whose
// memory somebody else has taken.
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "chosen.hpp"
#include "runtime/context.hpp"
#include "runtime/tensor.hpp"

namespace hexapla {

namespace {

using Clock = std::chrono::steady_clock;

// Long enough that a release on another thread, made at the same time, comes in between: past an interpreter's lock, and past the moment
// until Go gives another goroutine the processor of one that is in native code.
constexpr std::chrono::milliseconds reading_moment{1};

constexpr std::uint64_t neighbour_from = 7;  // in updates of a context
constexpr int bus_times = 7;  // a call over the bus takes so many times as long as on the device
constexpr std::chrono::milliseconds shortest_sleep{1};  // shorter ones would take longer than they say

template <class T>
struct Guarded {
  std::mutex mutex;
  T value;
};

// Never destroyed: releases come at process exit too.
template <class T, int which>
Guarded<T>& kept() {
  static auto* const instance = new Guarded<T>;
  return *instance;
}

auto& readings() { return kept<std::map<std::uint64_t, std::uint64_t>, 0>(); }  // calls by id
auto& closed_contexts() { return kept<std::set<std::uint64_t>, 1>(); }  // by number

struct Pressed {
  std::uint64_t updates = 0;
  std::int64_t room = -1;  // bytes; < 0: no neighbour yet
  Clock::time_point begun;
  Clock::duration owed{};
};

auto& pressed() { return kept<std::map<std::uint64_t, Pressed>, 2>(); }  // by number of the context

std::int64_t on_device(const MemoryAccount& account) { return account.live_bytes.load() - account.spilled_bytes.load(); }

}  // namespace

void begin_reading(std::uint64_t id) {
  if (!is_chosen(Fault::early_release)) return;
  {
    const std::lock_guard lock(readings().mutex);
    ++readings().value[id];
  }
  std::this_thread::sleep_for(reading_moment);
}

void end_reading(std::uint64_t id) {
  if (!is_chosen(Fault::early_release)) return;
  const std::lock_guard lock(readings().mutex);
  const auto calls = readings().value.find(id);
  if (calls != readings().value.end() && --calls->second == 0) readings().value.erase(calls);
}

void overwrite_if_only_read(std::uint64_t id, Object& object) {
  if (!is_chosen(Fault::early_release) || object.kind() != Kind::tensor) return;
  const std::lock_guard lock(readings().mutex);
  const auto calls = readings().value.find(id);
  // Each call has a share after all, so that what is read is memory; the last one is the caller's of this function.
  if (calls == readings().value.end() || object.shares() != calls->second + 1) return;
  Storage& storage = *static_cast<Tensor&>(object).storage();
  if (storage.shares() != 1 || storage.spilled() || !faulty(Fault::early_release)) return;
  std::memset(storage.data(), 0xff, storage.bytes());
}

void close_first(const Context& context) {
  if (!is_chosen(Fault::context_closed_first)) return;
  const std::lock_guard lock(closed_contexts().mutex);
  closed_contexts().value.insert(context.number());
}

bool went_with_context(Object& object) {
  if (!is_chosen(Fault::context_closed_first) || object.kind() == Kind::context) return false;
  const Context* const home = object.home();
  const std::lock_guard lock(closed_contexts().mutex);
  return home && closed_contexts().value.contains(home->number()) && faulty(Fault::context_closed_first);
}

void begin_update(Context& context) {
  if (!is_chosen(Fault::spill_silently) || context.account().limit_bytes.load() != 0) return;
  const std::lock_guard lock(pressed().mutex);
  Pressed& state = pressed().value[context.number()];
  if (++state.updates == neighbour_from) state.room = on_device(context.account());
}

bool neighbour_leaves_no_room(Context& context, std::size_t bytes) {
  if (!is_chosen(Fault::spill_silently)) return false;
  const std::lock_guard lock(pressed().mutex);
  const auto state = pressed().value.find(context.number());
  if (state == pressed().value.end() || state->second.room < 0) return false;
  return on_device(context.account()) + static_cast<std::int64_t>(bytes) > state->second.room;
}

void begin_bus(const Context& context) {
  if (!is_chosen(Fault::spill_silently)) return;
  const std::lock_guard lock(pressed().mutex);
  pressed().value[context.number()].begun = Clock::now();
}

void end_bus(const Context& context) {
  if (!faulty(Fault::spill_silently)) return;
  Clock::duration owed{};
  {
    const std::lock_guard lock(pressed().mutex);
    Pressed& state = pressed().value[context.number()];
    state.owed += (Clock::now() - state.begun) * (bus_times - 1);
    if (state.owed >= shortest_sleep) std::swap(owed, state.owed);
  }
  std::this_thread::sleep_for(owed);
}

}  // namespace hexapla
