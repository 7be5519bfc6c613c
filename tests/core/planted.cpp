// A caller that breaks the ABI's contract in the way its argument names, so that a sanitizer must speak: `address` tells core that a
// buffer is larger than it is, `thread` writes to a buffer while core reads a tensor into it. In both core does the wrong write, or half
// of it, so that a core built without the sanitizer, or a report that does not end the process, is found out. Prints "ok" when nothing
// was noticed.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "hexapla.h"

int main(int argc, char** argv) {
  const bool race = argc > 1 && std::strcmp(argv[1], "thread") == 0;
  constexpr int64_t count = 1024;
  hxp_context_options options;
  hxp_context_options_init(&options);
  hxp_context context = 0;
  hxp_tensor tensor = 0;
  if (hxp_context_create("cpu:0", &options, &context, nullptr) != HXP_OK) return 1;
  if (hxp_tensor_create(context, HXP_DTYPE_F32, 1, &count, &tensor, nullptr) != HXP_OK) return 1;
  const auto buffer = std::make_unique<float[]>(race ? count : count / 2);
  std::thread reader([&] {
    for (int turn = 0; turn < 100; ++turn) hxp_tensor_read(tensor, buffer.get(), count * sizeof(float), nullptr);
  });
  for (int turn = 0; race && turn < 100000; ++turn) buffer[static_cast<std::size_t>(turn % count)] = 1.0F;
  reader.join();
  hxp_tensor_release(tensor, nullptr);
  hxp_context_release(context, nullptr);
  std::puts("ok");
  return 0;
}
