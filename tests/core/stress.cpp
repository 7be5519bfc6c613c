// Many threads on the runtime at once, for the sanitizers: shared contexts of two workers, ids retained and released everywhere, a
// pressure hook that releases, contexts that end under their last tensor, gates. Prints "ok" and ends with 0 if every answer was as
// expected; what a race does beyond that is the sanitizer's to say. Through the public ABI alone.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "hexapla.h"

namespace {

void expect(hxp_status status, const hxp_error& error) {
  if (status == HXP_OK) return;
  std::fprintf(stderr, "%s: %s\n", hxp_status_name(status), error.message);
  std::exit(1);
}

struct Held {
  std::mutex mutex;
  std::vector<hxp_tensor> tensors;
};

// Releases what another thread left for it, as a collector's finaliser would.
int32_t drop_held(void* payload, uint64_t, uint64_t, uint64_t) {
  auto& held = *static_cast<Held*>(payload);
  std::vector<hxp_tensor> taken;
  {
    const std::lock_guard lock(held.mutex);
    taken.swap(held.tensors);
  }
  for (const hxp_tensor tensor : taken) hxp_tensor_release(tensor, nullptr);
  std::this_thread::yield();
  return 1;
}

void share_a_context(hxp_context context, Held& held, unsigned seed) {
  hxp_error error;
  hxp_error_init(&error);
  const int64_t shape[] = {64, 512};
  for (int turn = 0; turn < 200; ++turn) {
    hxp_tensor tensor = 0;
    hxp_tensor again = 0;
    // Others may hold all memory for a moment; that is an answer too.
    const hxp_status made = hxp_tensor_create(context, HXP_DTYPE_F32, 2, shape, &tensor, &error);
    if (made == HXP_OUT_OF_MEMORY) continue;
    expect(made, error);
    expect(hxp_tensor_retain(tensor, &again, &error), error);
    expect(hxp_tensor_add_in_place(tensor, 1.0, &error), error);
    hxp_tensor sum = 0;
    const hxp_status summed = hxp_add(0, tensor, again, &sum, &error);
    if (summed != HXP_OUT_OF_MEMORY) expect(summed, error);
    expect(hxp_tensor_release(tensor, &error), error);
    expect(hxp_tensor_release(sum, &error), error);
    if ((static_cast<unsigned>(turn) + seed) % 3 == 0) {
      const std::lock_guard lock(held.mutex);
      held.tensors.push_back(again);
    } else {
      expect(hxp_tensor_release(again, &error), error);
    }
    hxp_memory memory;
    hxp_memory_init(&memory);
    expect(hxp_context_memory(context, &memory, &error), error);
  }
}

void end_contexts_early() {
  hxp_error error;
  hxp_error_init(&error);
  const int64_t shape[] = {3};
  for (int turn = 0; turn < 50; ++turn) {
    hxp_context_options options;
    hxp_context_options_init(&options);
    options.threads = 2;
    hxp_context context = 0;
    expect(hxp_context_create("cpu:1", &options, &context, &error), error);
    hxp_tensor tensor = 0;
    expect(hxp_tensor_create(context, HXP_DTYPE_F32, 1, shape, &tensor, &error), error);
    expect(hxp_context_release(context, &error), error);
    expect(hxp_tensor_add_in_place(tensor, 1.0, &error), error);
    std::thread([tensor] { hxp_tensor_release(tensor, nullptr); }).join();
  }
}

void open_gates() {
  hxp_error error;
  hxp_error_init(&error);
  for (int turn = 0; turn < 100; ++turn) {
    hxp_gate gate = 0;
    expect(hxp_gate_create(&gate, &error), error);
    std::thread waiter([gate] { hxp_gate_wait(gate, nullptr); });
    if (turn % 2) expect(hxp_gate_open(gate, &error), error);
    expect(hxp_gate_release(gate, &error), error);
    waiter.join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  Held held;
  hxp_error error;
  hxp_error_init(&error);
  hxp_context_options options;
  hxp_context_options_init(&options);
  options.threads = 2;
  options.memory_limit = 3'000'000;
  options.pressure_hook = drop_held;
  options.pressure_payload = &held;
  options.ledger_path = argc > 1 ? argv[1] : nullptr;
  hxp_context context = 0;
  expect(hxp_context_create("cpu:0", &options, &context, &error), error);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back([&, seed] { share_a_context(context, held, seed); });
  threads.emplace_back(end_contexts_early);
  threads.emplace_back(open_gates);
  for (std::thread& thread : threads) thread.join();
  drop_held(&held, 0, 0, 0);
  expect(hxp_context_release(context, &error), error);
  hxp_memory memory;
  hxp_memory_init(&memory);
  expect(hxp_process_memory(&memory, &error), error);
  if (memory.live_handles != 0 || memory.live_bytes != 0) {
    std::fprintf(stderr, "%lld handles, %lld bytes left\n", static_cast<long long>(memory.live_handles),
                 static_cast<long long>(memory.live_bytes));
    return 1;
  }
  std::puts("ok");
  return 0;
}
