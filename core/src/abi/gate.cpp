// Gates across the ABI. A gate belongs to no context, so nothing here is recorded in a ledger.
#include "hexapla/gate.h"

#include "abi/shim.hpp"
#include "runtime/gate.hpp"

using namespace hexapla;

extern "C" {

hxp_status hxp_gate_create(hxp_gate* out, hxp_error* error) {
  return guard(error, [&] {
    require(out != nullptr, "out must be given");
    *out = publish(make<Gate>());
  });
}

hxp_status hxp_gate_retain(hxp_gate gate, hxp_gate* out, hxp_error* error) { return retain<Gate>(error, 0, gate, out); }

hxp_status hxp_gate_release(hxp_gate gate, hxp_error* error) { return release<Gate>(error, 0, gate); }

hxp_status hxp_gate_wait(hxp_gate gate, hxp_error* error) {
  return guard(error, [&] { share<Gate>(gate)->wait(); });
}

hxp_status hxp_gate_open(hxp_gate gate, hxp_error* error) {
  return guard(error, [&] { share<Gate>(gate)->open(); });
}

}  // extern "C"
