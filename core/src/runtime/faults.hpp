// Faults that a build may be made to have (core/faults, CMake's HXP_FAULTS): the questions that the code asks at the places where they act.
// Separate so that the one preprocessor condition lies here and a normal build sees constants. What a fault needs beyond one line lies in
// core/faults; a normal build must hold none of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hexapla {

/// In the order of fault_names; docs and catalogue: harness/hexapla/faults.
enum class Fault : std::uint8_t {
  thread_local_gradient_mode,
  thread_local_device,
  shared_error_text,
  no_pressure_hook,
  pressure_answer_ignored,
  missing_share,
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

/// thread_local_gradient_mode: whether this OS thread is another one than that which first recorded in the context of this number.
bool gradient_mode_is_off(std::uint64_t context, std::uint32_t thread);

/// thread_local_device: the device of the last context that this OS thread made.
std::string& device_of_thread() noexcept;

/// shared_error_text: the text as it is after it lay, for a moment, where every thread keeps its last one.
std::string text_from_shared_place(std::string_view text);

#else

constexpr bool has_faults = false;
constexpr bool faulty(Fault) noexcept { return false; }
constexpr const char* fault_names() noexcept { return ""; }
inline std::string fault_words() { return "none"; }
constexpr bool gradient_mode_is_off(std::uint64_t, std::uint32_t) { return false; }
inline std::string device_of_thread() { return {}; }
inline std::string text_from_shared_place(std::string_view text) { return std::string(text); }

#endif

}  // namespace hexapla
