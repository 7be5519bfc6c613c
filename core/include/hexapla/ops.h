/* Operations. Each makes one new tensor, computes it before it returns (on cpu) and can be recorded on a tape.
 *
 * Common to all: tape [retained by the record] or 0 = not recorded; tensors [borrowed; retained by a record that needs them], f32, any
 * strides, all of one context; host arrays [borrowed]; out [owned]. Shapes are written (rows, columns). A shape, size or index that
 * does not fit answers HXP_INVALID_ARGUMENT; HXP_OUT_OF_MEMORY leaves everything as it was. Formulas: docs/spec.md, "Forward". */
#ifndef HEXAPLA_OPS_H
#define HEXAPLA_OPS_H

#include "hexapla/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows of a table: out (count, width), out[i] = table[ids[i]].
 *  table    (vocabulary, width).
 *  ids      count ids, each 0 ≤ id < vocabulary. Backward adds rows in order of i (deterministic).
 */
HXP_API hxp_status hxp_embedding(hxp_tape tape, hxp_tensor table, const int32_t *ids, uint64_t count, hxp_tensor *out,
                                 hxp_error *error);

/** Root mean square norm over the last axis: gain · x / sqrt(mean(x²) + epsilon).
 *  x        (…, width), gain (width), epsilon ≥ 0.
 */
HXP_API hxp_status hxp_rms_norm(hxp_tape tape, hxp_tensor x, hxp_tensor gain, double epsilon, hxp_tensor *out, hxp_error *error);

/** x wᵀ: x (rows, in), w (out, in), result (rows, out). */
HXP_API hxp_status hxp_linear(hxp_tape tape, hxp_tensor x, hxp_tensor w, hxp_tensor *out, hxp_error *error);

/** x wᵀ + scale · (x aᵀ) bᵀ: x (rows, in), w (out, in), a (rank, in), b (out, rank), result (rows, out). */
HXP_API hxp_status hxp_lora_linear(hxp_tape tape, hxp_tensor x, hxp_tensor w, hxp_tensor a, hxp_tensor b, double scale,
                                   hxp_tensor *out, hxp_error *error);

/** Rotary position embedding, half-split pairs (i, i + width/2), angle position · theta^(−2i/width).
 *  x          (rows, heads, width), width even.
 *  positions  rows numbers ≥ 0; count must equal rows.
 */
HXP_API hxp_status hxp_rope(hxp_tape tape, hxp_tensor x, const int32_t *positions, uint64_t count, double theta, hxp_tensor *out,
                            hxp_error *error);

/** Grouped-query attention inside records laid end to end: softmax(q kᵀ / sqrt(width)) v; query head i reads key head
 *  floor(i · kv_heads / heads). The score matrix is never held whole.
 *
 *  q          (rows, heads, width); k, v (rows, kv_heads, width); heads a multiple of kv_heads. Result (rows, heads, width).
 *  starts     starts_count numbers: each record's first row, then the row behind the last record; the first is 0, none decreases,
 *             none exceeds rows. Rows behind the last record give zero output and zero gradient.
 *  causal     not 0: a row sees its own and earlier rows of its record; 0: all rows of its record.
 */
HXP_API hxp_status hxp_attention(hxp_tape tape, hxp_tensor q, hxp_tensor k, hxp_tensor v, const int32_t *starts,
                                 uint64_t starts_count, int32_t causal, hxp_tensor *out, hxp_error *error);

/** silu(gate) · up, element by element; both of one shape. */
HXP_API hxp_status hxp_swiglu(hxp_tape tape, hxp_tensor gate, hxp_tensor up, hxp_tensor *out, hxp_error *error);

/** a + b, both of one shape. */
HXP_API hxp_status hxp_add(hxp_tape tape, hxp_tensor a, hxp_tensor b, hxp_tensor *out, hxp_error *error);

/** x · factor. */
HXP_API hxp_status hxp_scale(hxp_tape tape, hxp_tensor x, double factor, hxp_tensor *out, hxp_error *error);

/** Cross-entropy of a linear head at chosen rows; the logits are never held whole.
 *
 *  h          (rows, width); w (vocabulary, width).
 *  rows       count row numbers of h; targets count ids < vocabulary.
 *  out        (count): −log softmax(h[rows[i]] wᵀ)[targets[i]], each f32.
 *  Backward takes one weight per label as incoming: f32(1/N) each makes the gradient of the mean over N labels. w gets a gradient only
 *  if it needs one.
 */
HXP_API hxp_status hxp_linear_cross_entropy(hxp_tape tape, hxp_tensor h, hxp_tensor w, const int32_t *rows, const int32_t *targets,
                                            uint64_t count, hxp_tensor *out, hxp_error *error);

/** a b: a (m, k), b (k, n), any strides; result (m, n). */
HXP_API hxp_status hxp_matmul(hxp_tape tape, hxp_tensor a, hxp_tensor b, hxp_tensor *out, hxp_error *error);

/** Softmax over the last axis. A row of −infinity alone gives zeros, and zero gradient. */
HXP_API hxp_status hxp_softmax(hxp_tape tape, hxp_tensor x, hxp_tensor *out, hxp_error *error);

/** Sum over one axis, which is removed (of a one-axis tensor: result (1)). axis < rank. */
HXP_API hxp_status hxp_reduce_sum(hxp_tape tape, hxp_tensor x, uint32_t axis, hxp_tensor *out, hxp_error *error);

/** A view of x with its last two axes swapped; shares x's storage. rank ≥ 2. */
HXP_API hxp_status hxp_transpose(hxp_tape tape, hxp_tensor x, hxp_tensor *out, hxp_error *error);

/** x in another shape of as many elements: a view that shares x's storage. x must be contiguous.
 *  shape    rank sizes ≥ 0.
 */
HXP_API hxp_status hxp_reshape(hxp_tape tape, hxp_tensor x, uint32_t rank, const int64_t *shape, hxp_tensor *out, hxp_error *error);

/** A strided view into x's elements; shares x's storage. Backward adds each element's gradient to the element it was read from.
 *  x        contiguous.
 *  shape, strides  rank numbers each, strides ≥ 0 in elements (0 repeats an element); offset ≥ 0, in elements of x. No element may lie
 *           outside x.
 */
HXP_API hxp_status hxp_as_strided(hxp_tape tape, hxp_tensor x, uint32_t rank, const int64_t *shape, const int64_t *strides,
                                  int64_t offset, hxp_tensor *out, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
