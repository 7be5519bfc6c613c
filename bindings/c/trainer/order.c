#include "order.h"

uint64_t splitmix64(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

void order_epoch(int64_t seed, int64_t epoch, int64_t n, int64_t *order) {
  uint64_t state = ((uint64_t)seed << 32) + (uint64_t)epoch;
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = n - 1; i >= 1; i--) {
    int64_t j = (int64_t)(splitmix64(&state) % (uint64_t)(i + 1)), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}
