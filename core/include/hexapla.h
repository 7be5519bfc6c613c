/* The whole C ABI of the Hexapla core, and the contract that every call keeps.
 *
 * Handles.   A handle is a 64-bit id, tagged with its kind and never used twice. 0 is no handle: releasing 0 does nothing, and
 *            nothing else accepts 0 unless its line says so. Use after release answers HXP_STALE_HANDLE, a handle of another kind
 *            HXP_WRONG_KIND; neither touches memory. `_retain` works like dup(2): it hands out a NEW id for the same object, one
 *            id for one owner, and each id is released once. Objects hold shares of what they need, so every release order is legal.
 *
 * Ownership. Five words and no others, used of every pointer and handle:
 *              borrowed   the caller keeps it; the library uses it only during this call
 *              retained   the caller keeps it; the library takes a share of its own
 *              consumed   the caller gives it away if, and only if, the call succeeds
 *              owned      the caller gets a share and must release it once
 *              view       the caller gets a pointer that dies with the object named beside the word
 *
 * Threads.   Any thread may make any call. A context runs its calls one at a time and its kernels on worker threads of its own; the
 *            calling OS thread never matters and nothing that outlives a call is kept per thread. Releases and memory queries never
 *            wait for a running call. With HXP_THREADS_OWNER a context answers HXP_WRONG_THREAD to every thread but its maker
 *            (releases and memory queries apart).
 *
 * Errors.    Every call that can fail returns an hxp_status and fills the caller's hxp_error (which may be NULL) when it is not
 *            HXP_OK. On failure outputs are left as they were. There is no last error. Nothing thrown crosses this boundary.
 *
 * Text.      Paths and names are UTF-8 and end in a zero byte. Text returned through `out, out_bytes` is cut never: a buffer that is
 *            too small answers HXP_INVALID_ARGUMENT and the text names the bytes needed.
 *
 * Results.   Bit-identical for one build and device, whatever the number of workers, the calling thread and the run.
 *
 * Structs that the caller fills begin with struct_size and are filled with defaults by their `_init`. */
#ifndef HEXAPLA_H
#define HEXAPLA_H

#include "hexapla/status.h"

#include "hexapla/checkpoint.h"
#include "hexapla/context.h"
#include "hexapla/gate.h"
#include "hexapla/ledger.h"
#include "hexapla/ops.h"
#include "hexapla/optimizer.h"
#include "hexapla/tape.h"
#include "hexapla/tensor.h"
#include "hexapla/tokenizer.h"

#endif
