/* A tape: an explicit record of operations, and the way back through it. There is no gradient mode: an op given a tape is recorded on
 * it if one of its inputs needs a gradient there, an op given 0 never is. */
#ifndef HEXAPLA_TAPE_H
#define HEXAPLA_TAPE_H

#include "hexapla/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hxp_tape;

/** Make an empty tape. context [retained], out [owned]. */
HXP_API hxp_status hxp_tape_create(hxp_context context, hxp_tape *out, hxp_error *error);

/** Take another share: a new id for the same tape. out [owned]. */
HXP_API hxp_status hxp_tape_retain(hxp_tape tape, hxp_tape *out, hxp_error *error);

/** Give one share back. A tape's end drops its records and its shares of tensors. 0 does nothing. */
HXP_API hxp_status hxp_tape_release(hxp_tape tape, hxp_error *error);

/** Ask for the gradient of a tensor: ops recorded later that use it let backward add into `gradient`.
 *
 *  tensor    [retained]
 *  gradient  [retained] contiguous, of the tensor's shape; backward ADDS to what it holds (fill it with 0 to start). 0: the tape
 *            makes one, of zeros. Watching a tensor again replaces its gradient.
 */
HXP_API hxp_status hxp_tape_watch(hxp_tape tape, hxp_tensor tensor, hxp_tensor gradient, hxp_error *error);

/** The gradient of a watched tensor.
 *  out      [owned] a new id for the tensor given to, or made by, hxp_tape_watch.
 *  returns  HXP_OK, HXP_NO_GRADIENT (not watched).
 */
HXP_API hxp_status hxp_tape_gradient(hxp_tape tape, hxp_tensor tensor, hxp_tensor *out, hxp_error *error);

/** Go back from `output` through the records, newest first, adding into the watched tensors' gradients. Gradients of a tensor used
 *  more than once add up in reverse order of recording.
 *
 *  output    [borrowed] made by an op recorded on this tape.
 *  incoming  [borrowed] the gradient at output, of its shape, any strides (a stride of 0 broadcasts); 0: ones.
 *  returns   HXP_OK, HXP_NO_GRADIENT (output is not on the tape), HXP_INVALID_ARGUMENT, HXP_OUT_OF_MEMORY.
 *  The records are gone afterwards, also after a failure (then the gradients hold what was added so far); watched tensors stay
 *  watched.
 */
HXP_API hxp_status hxp_tape_backward(hxp_tape tape, hxp_tensor output, hxp_tensor incoming, hxp_error *error);

/** Drop the records and what they keep alive, without going back. Watched tensors stay watched. */
HXP_API hxp_status hxp_tape_reset(hxp_tape tape, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
