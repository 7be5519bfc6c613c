/* The pressure hook as core sees it. The payload is a number, not an address: it is turned back here, since Go's stacks must never hold a
 * small number typed as a pointer. */
#include <stdint.h>

#include "_cgo_export.h"

int32_t hexapla_go_pressure(void *payload, uint64_t need_bytes, uint64_t live_bytes, uint64_t limit_bytes) {
  return hexaplaGoPressure((uintptr_t)payload, need_bytes, live_bytes, limit_bytes);
}
