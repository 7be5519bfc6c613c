// Status names, the error struct, and what this build says of itself.
#include "hexapla/status.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "abi/shim.hpp"
#include "backends/cpu/blas.hpp"
#include "runtime/faults.hpp"

namespace hexapla {

namespace {

constexpr std::array status_names{"HXP_OK",           "HXP_INVALID_ARGUMENT", "HXP_OUT_OF_MEMORY", "HXP_STALE_HANDLE", "HXP_WRONG_KIND",
                                  "HXP_WRONG_THREAD", "HXP_BUSY",             "HXP_DEVICE",        "HXP_NO_GRADIENT",  "HXP_IO",
                                  "HXP_FORMAT",       "HXP_NOT_FOUND",        "HXP_UNSUPPORTED",   "HXP_INTERNAL"};
static_assert(status_names.size() == HXP_INTERNAL + 1);

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::string processor() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

hxp_status report(hxp_error* error, hxp_status status, std::string_view text) noexcept {
  constexpr std::size_t head = offsetof(hxp_error, message);
  if (!error || error->struct_size <= head) return status;
  std::string shared;
  if (faulty(Fault::shared_error_text)) text = shared = text_from_shared_place(text);
  const std::size_t room = std::min<std::size_t>(error->struct_size, sizeof(hxp_error)) - head - 1;
  std::size_t bytes = std::min(text.size(), room);
  // A text that does not fit is cut between characters, not within one.
  while (bytes > 0 && bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  error->status = status;
  std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bytes), error->message,
                 [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c; });
  error->message[bytes] = '\0';
  return status;
}

void write_text(std::string_view text, char* out, std::uint64_t out_bytes) {
  require(out != nullptr, "out must be given");
  require(out_bytes > text.size(), "out holds ", out_bytes, " bytes, the text needs ", text.size() + 1);
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
}

hxp_status retain(hxp_error* error, std::uint16_t operation, Kind kind, std::uint64_t handle, std::uint64_t* out) noexcept {
  return guard(error, operation, [&] {
    Share<Object> object = share_object(handle, kind);
    Context* const home = object->home();
    if (kind == Kind::tensor && out && faulty(Fault::missing_share)) {
      home->record(operation, handle, 0, HXP_OK, thread_id());
      *out = handle;
      return;
    }
    if (!home) {
      require(out != nullptr, "out must be given");
      *out = publish(std::move(object));
      return;
    }
    CallScope call(*home, operation, handle, Waits::no);
    call.perform([&] {
      require(out != nullptr, "out must be given");
      *out = call.publish(std::move(object));
    });
  });
}

hxp_status release(hxp_error* error, std::uint16_t operation, Kind kind, std::uint64_t handle) noexcept {
  return guard(error, operation, [&] {
    if (handle == 0) return;
    Share<Object> object = withdraw(handle, kind);
    const Share<Context> home = Share<Context>::of(object->home());
    if (!home) return;
    const std::uint32_t thread = thread_id();
    ByteTally tally;
    object = nullptr;
    home->count_call(thread);
    home->record(operation, handle, tally.bytes(), HXP_OK, thread);
  });
}

}  // namespace hexapla

extern "C" {

void hxp_error_init(hxp_error* error) {
  if (!error) return;
  error->struct_size = sizeof *error;
  error->status = HXP_OK;
  error->message[0] = '\0';
}

const char* hxp_status_name(hxp_status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < hexapla::status_names.size() ? hexapla::status_names[index] : nullptr;
}

uint32_t hxp_abi_version(void) { return HXP_ABI_VERSION; }

const char* hxp_build_info(void) {
  static const auto* const text = new std::string(hexapla::one_line(hexapla::join(
      "hexapla ", HXP_VERSION, ", commit ", HXP_COMMIT, ", ", hexapla::compiler(), ", ", hexapla::processor(), ", BLAS ",
      hexapla::backends::cpu::blas_description(), ", backends cpu, faults ", hexapla::fault_words())));
  return text->c_str();
}

const char* hxp_build_faults(void) { return hexapla::fault_names(); }

}  // extern "C"
