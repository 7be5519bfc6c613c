// libFuzzer entry point for safetensors: open a file of these bytes and read every tensor that this core widens. Built as json.cpp is.
// The file lives in memory (memfd), so that the reader's own system calls are what is tested.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/safetensors.hpp"
#include "runtime/error.hpp"

using namespace hexapla;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int descriptor = memfd_create("input", 0);
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  try {
    const Safetensors file("/proc/self/fd/" + std::to_string(descriptor));
    std::uint64_t elements = 0;
    for (const TensorEntry& tensor : file.tensors()) {
      if (!tensor.dtype->widen) continue;
      file.read(tensor, [&](std::uint64_t, std::size_t count, const float*) { elements += count; });
    }
    if (elements > size) __builtin_trap();
  } catch (const Error& error) {
    if (error.status != HXP_FORMAT && error.status != HXP_UNSUPPORTED) __builtin_trap();
  }
  return 0;
}
