// The faults of a build that can be made wrong: which one this process has (HXP_FAULT in its environment), and its proof. Separate from src
// because a normal build must not even hold it; CMake adds this folder only with HXP_FAULTS. Each fault acts where the code asks; what some
// of them keep lies beside this file, by what they break.
#include "chosen.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

namespace hexapla {

namespace {

constexpr std::array<std::string_view, 18> names{
    "thread_local_gradient_mode", "thread_local_device",  "thread_local_scratch",      "shared_error_text",
    "no_pressure_hook",           "pressure_answer_ignored", "hook_under_lock",        "missing_share",
    "early_release",              "context_closed_first", "spill_silently",            "rms_epsilon",
    "rope_interleaved",           "kv_heads_tiled",       "transposed_backward_dense", "no_nfc",
    "subnormals_flushed",         "f16_as_bf16",
};
static_assert(names.size() == static_cast<std::size_t>(Fault::f16_as_bf16) + 1);

constexpr std::size_t none = names.size();

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

bool is_chosen(Fault fault) noexcept { return static_cast<std::size_t>(fault) == chosen(); }

bool faulty(Fault fault) noexcept {
  if (!is_chosen(fault)) [[likely]] return false;
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

}  // namespace hexapla
