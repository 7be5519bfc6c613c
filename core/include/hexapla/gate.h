/* A gate: a place where a caller blocks in native code, holding no lock. The thread scenarios need one to keep an OS thread occupied so
 * that no runtime can use it again. A gate belongs to no context. */
#ifndef HEXAPLA_GATE_H
#define HEXAPLA_GATE_H

#include "hexapla/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hxp_gate;

/** Make a closed gate. out [owned]. */
HXP_API hxp_status hxp_gate_create(hxp_gate *out, hxp_error *error);

/** Take another share: a new id for the same gate. out [owned]. */
HXP_API hxp_status hxp_gate_retain(hxp_gate gate, hxp_gate *out, hxp_error *error);

/** Give one share back. A caller that waits holds a share of its own, so that a gate released under it still can be opened by others
 *  and opens by itself when its last id is released. 0 does nothing. */
HXP_API hxp_status hxp_gate_release(hxp_gate gate, hxp_error *error);

/** Block until the gate is open; returns at once when it is.
 *  blocks   without a lock and without time limit.
 */
HXP_API hxp_status hxp_gate_wait(hxp_gate gate, hxp_error *error);

/** Open the gate for good and wake every waiter. Opening an open gate does nothing. */
HXP_API hxp_status hxp_gate_open(hxp_gate gate, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
