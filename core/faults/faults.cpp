// The faults of a build that can be made wrong: which one this process has (HXP_FAULT in its environment), and the state that some of them
// keep. Separate from src because a normal build must not even hold it; CMake adds this folder only with HXP_FAULTS. Each fault acts where
// the code asks `faulty`; what is here must do nothing unless it is asked.
#include "runtime/faults.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

namespace hexapla {

namespace {

constexpr std::array<std::string_view, 14> names{
    "thread_local_gradient_mode", "thread_local_device", "shared_error_text", "no_pressure_hook", "pressure_answer_ignored",
    "missing_share",              "spill_silently",      "rms_epsilon",       "rope_interleaved", "kv_heads_tiled",
    "transposed_backward_dense",  "no_nfc",              "subnormals_flushed", "f16_as_bf16",
};
static_assert(names.size() == static_cast<std::size_t>(Fault::f16_as_bf16) + 1);

constexpr std::size_t none = names.size();

// Long enough that another thread's error comes in between when several fail at once.
constexpr std::chrono::microseconds shared_moment{50};

std::string_view wanted() noexcept {
  const char* name = std::getenv("HXP_FAULT");
  return name ? name : "";
}

std::size_t chosen() noexcept {
  static const std::size_t index = static_cast<std::size_t>(std::ranges::find(names, wanted()) - names.begin());
  return index;
}

void say_applied(std::string_view name) noexcept {
  const std::string line = "hexapla: fault " + std::string(name) + " applied\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

bool faulty(Fault fault) noexcept {
  if (static_cast<std::size_t>(fault) != chosen()) [[likely]] return false;
  static std::atomic_flag said;
  if (!said.test_and_set()) say_applied(names[chosen()]);
  return true;
}

const char* fault_names() noexcept {
  static const auto* const joined = [] {
    auto* text = new std::string;
    for (const std::string_view name : names) text->append(text->empty() ? "" : ",").append(name);
    return text;
  }();
  return joined->c_str();
}

std::string fault_words() {
  const std::string on(chosen() == none ? "none" : names[chosen()]);
  return std::string(fault_names()) + "; on: " + on;
}

bool gradient_mode_is_off(std::uint64_t context, std::uint32_t thread) {
  if (chosen() != static_cast<std::size_t>(Fault::thread_local_gradient_mode)) return false;
  static std::mutex mutex;
  static auto* const first_of_context = new std::map<std::uint64_t, std::uint32_t>;
  const std::lock_guard lock(mutex);
  const std::uint32_t first = first_of_context->try_emplace(context, thread).first->second;
  return thread != first && faulty(Fault::thread_local_gradient_mode);
}

std::string& device_of_thread() noexcept {
  thread_local std::string device;
  return device;
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

}  // namespace hexapla
