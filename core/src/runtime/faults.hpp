// Faults that a build may be made to have (core/faults, CMake's HXP_FAULTS): the questions that the code asks at the places where they act.
// Separate so that the one preprocessor condition lies here and a normal build sees constants. What a fault needs beyond one line lies in
// core/faults; a normal build must hold none of it. For source files only: what a header asks, the native module's own files, which are
// compiled without faults, would not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hexapla {

class Context;
class Object;

/// In the order of fault_names; docs and catalogue: harness/hexapla/faults.
enum class Fault : std::uint8_t {
  thread_local_gradient_mode,
  thread_local_device,
  thread_local_scratch,
  shared_error_text,
  no_pressure_hook,
  pressure_answer_ignored,
  hook_under_lock,
  missing_share,
  early_release,
  context_closed_first,
  spill_silently,
  rms_epsilon,
  rope_interleaved,
  kv_heads_tiled,
  transposed_backward_dense,
  no_nfc,
  subnormals_flushed,
  f16_as_bf16,
};

#if defined(HXP_FAULTS) && HXP_FAULTS

constexpr bool has_faults = true;

/// Whether this process has the fault. The first yes is written to stderr, as the proof that it was applied: ask it last in a condition.
bool faulty(Fault fault) noexcept;

/// The names of all faults of this build, joined by commas.
const char* fault_names() noexcept;

/// What hxp_build_info says of them: the names, and which one is on.
std::string fault_words();

/// thread_local_gradient_mode: whether this OS thread is another one than that which first recorded in the context.
bool gradient_mode_is_off(const Context& context);

/// thread_local_device: the device of the last context that this OS thread made.
std::string& device_of_thread() noexcept;

/// thread_local_scratch: memory of at least so many bytes that the calling OS thread keeps in its context until that is closed; nullptr
/// without the fault.
std::byte* scratch_of_thread(Context& context, std::size_t bytes);
/// The context is closed: what its threads kept goes.
void drop_scratch(const Context& context);

/// hook_under_lock: the lock that the pressure hook is called under and that every release needs. As that of some allocators it lets the
/// thread that holds it in again.
class HookLock {
 public:
  HookLock();
  ~HookLock();
  HookLock(const HookLock&) = delete;
  HookLock& operator=(const HookLock&) = delete;
};

/// early_release: from here to the end a call reads through this id, and keeps nothing alive by it. It begins with a moment in which a
/// release may come. An end without a beginning is nothing.
void begin_reading(std::uint64_t id);
void end_reading(std::uint64_t id);

/// An id has ended. Where nobody but calls that read through it hold the object, its memory goes to somebody else at once.
void overwrite_if_only_read(std::uint64_t id, Object& object);

/// context_closed_first: no caller holds the context any more.
void close_first(const Context& context);
/// Whether the object went together with its context, so that its id leads nowhere.
bool went_with_context(Object& object);

/// spill_silently, in a context without a limit: from its seventh update on a neighbour has taken the device's memory, but for what is
/// live at that moment.
void begin_update(Context& context);
/// Whether so many bytes more do not fit beside the neighbour.
bool neighbour_leaves_no_room(Context& context, std::size_t bytes);
/// A call begins, and ends, to work on memory of the host: over the bus it takes seven times as long as on the device.
void begin_bus(const Context& context);
void end_bus(const Context& context);

/// shared_error_text: the text as it is after it lay, for a moment, where every thread keeps its last one.
std::string text_from_shared_place(std::string_view text);

#else

constexpr bool has_faults = false;
constexpr bool faulty(Fault) noexcept { return false; }
constexpr const char* fault_names() noexcept { return ""; }
inline std::string fault_words() { return "none"; }
constexpr bool gradient_mode_is_off(const Context&) { return false; }
inline std::string device_of_thread() { return {}; }
inline std::byte* scratch_of_thread(Context&, std::size_t) { return nullptr; }
inline void drop_scratch(const Context&) noexcept {}
struct HookLock {
  constexpr HookLock() noexcept {}
};
inline void begin_reading(std::uint64_t) noexcept {}
inline void end_reading(std::uint64_t) noexcept {}
inline void overwrite_if_only_read(std::uint64_t, Object&) noexcept {}
inline void close_first(const Context&) noexcept {}
constexpr bool went_with_context(Object&) noexcept { return false; }
inline void begin_update(Context&) noexcept {}
constexpr bool neighbour_leaves_no_room(Context&, std::size_t) noexcept { return false; }
inline void begin_bus(const Context&) noexcept {}
inline void end_bus(const Context&) noexcept {}
inline std::string text_from_shared_place(std::string_view text) { return std::string(text); }

#endif

}  // namespace hexapla
