#include "runtime/handles.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

#include "runtime/context.hpp"
#include "runtime/faults.hpp"

namespace hexapla {

namespace {

constexpr unsigned kind_shift = 56;
constexpr std::size_t shard_count = 64;

constexpr std::size_t remembered_per_shard = 1024;

struct Released {
  std::uint64_t id = 0;
  std::uint64_t context = 0;
};

struct alignas(64) Shard {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Object*> objects;
  std::array<Released, remembered_per_shard> released;  // a ring
  std::size_t releases = 0;
};

struct Registry {
  std::array<Shard, shard_count> shards;
  std::atomic<std::uint64_t> next{1};
  std::atomic<std::int64_t> stale{0};

  Shard& shard(std::uint64_t id) noexcept { return shards[id % shard_count]; }
};

// Never destroyed: finalisers of other languages release handles while the process ends.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

std::string hex(std::uint64_t id) {
  std::ostringstream text;
  text << "0x" << std::hex << id;
  return text.str();
}

void require_kind(std::uint64_t id, Kind expected) {
  const auto tag = static_cast<Kind>(id >> kind_shift);
  if (tag != expected && tag != Kind::none && tag <= Kind::checkpoint) {
    fail(HXP_WRONG_KIND, hex(id), " is a ", kind_name(tag), " handle, not a ", kind_name(expected), " handle");
  }
}

[[noreturn]] void fail_stale(std::uint64_t id, Kind expected) {
  Registry& all = registry();
  all.stale.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t number = id & ((std::uint64_t{1} << kind_shift) - 1);
  const bool given_out = static_cast<Kind>(id >> kind_shift) == expected && number < all.next.load(std::memory_order_relaxed);
  Error stale(HXP_STALE_HANDLE, join(kind_name(expected), " handle ", hex(id), given_out ? " was released already" : " was never given out"));
  if (given_out) stale.released = id;
  throw stale;
}

void count_handles(Object& object, std::int64_t change) noexcept {
  process_account().live_handles.fetch_add(change, std::memory_order_relaxed);
  if (Context* home = object.home()) home->account().live_handles.fetch_add(change, std::memory_order_relaxed);
}

}  // namespace

const char* kind_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::none: return "shared object";
    case Kind::context: return "context";
    case Kind::tensor: return "tensor";
    case Kind::tape: return "tape";
    case Kind::gate: return "gate";
    case Kind::tokenizer: return "tokenizer";
    case Kind::checkpoint: return "checkpoint";
  }
  return "unknown";
}

std::uint64_t publish(Share<Object> object) {
  Registry& all = registry();
  const std::uint64_t number = all.next.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t id = static_cast<std::uint64_t>(object->kind()) << kind_shift | number;
  Shard& shard = all.shard(id);
  {
    const std::lock_guard lock(shard.mutex);
    shard.objects.emplace(id, object.get());
  }
  object->id_added();
  count_handles(*object, 1);
  object.detach();
  return id;
}

Share<Object> share_object(std::uint64_t id, Kind expected) {
  require_kind(id, expected);
  Shard& shard = registry().shard(id);
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.objects.find(id);
    if (found != shard.objects.end() && !went_with_context(*found->second)) return Share<Object>::of(found->second);
  }
  fail_stale(id, expected);
}

Share<Object> withdraw(std::uint64_t id, Kind expected) {
  require_kind(id, expected);
  [[maybe_unused]] const HookLock held;
  Shard& shard = registry().shard(id);
  Share<Object> object;
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.objects.find(id);
    if (found != shard.objects.end()) {
      object = Share<Object>::adopt(found->second);
      shard.objects.erase(found);
      const Context* const home = object->home();
      shard.released[shard.releases++ % remembered_per_shard] = {id, home ? home->number() : 0};
    }
  }
  if (!object) fail_stale(id, expected);
  count_handles(*object, -1);
  object->id_removed();
  if (went_with_context(*object)) fail_stale(id, expected);
  overwrite_if_only_read(id, *object);
  return object;
}

std::uint64_t home_of_released(std::uint64_t id) noexcept {
  Shard& shard = registry().shard(id);
  const std::lock_guard lock(shard.mutex);
  const auto found = std::ranges::find(shard.released, id, &Released::id);
  return found == shard.released.end() ? 0 : found->context;
}

std::int64_t live_handles() noexcept { return process_account().live_handles.load(std::memory_order_relaxed); }
std::int64_t stale_calls() noexcept { return registry().stale.load(std::memory_order_relaxed); }

}  // namespace hexapla
