/* What happens to gradients after backward: global norm, clip, AdamW. All tensors contiguous f32 of one context; the i-th of each list
 * belong together and have one shape. */
#ifndef HEXAPLA_OPTIMIZER_H
#define HEXAPLA_OPTIMIZER_H

#include "hexapla/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hxp_adamw_options {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  uint64_t step;     /* k, from 1 */
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
} hxp_adamw_options;

/** Set the options' size and zero the rest: no value has a default. options [caller's]. */
HXP_API void hxp_adamw_options_init(hxp_adamw_options *options);

/** Square root of the f64 sum of squares over all gradients, in the order given.
 *  gradients  [borrowed] count ids, count ≥ 1.
 *  out        [caller's] not finite when a gradient is not: the caller decides.
 */
HXP_API hxp_status hxp_gradient_norm(const hxp_tensor *gradients, uint64_t count, double *out, hxp_error *error);

/** If norm > clip_norm, multiply every gradient by f32(clip_norm / norm), in place; else leave them alone.
 *  gradients    [borrowed]
 *  clipped_out  [caller's] 1 or 0; may be NULL.
 */
HXP_API hxp_status hxp_gradient_clip(const hxp_tensor *gradients, uint64_t count, double norm, double clip_norm, int32_t *clipped_out,
                                     hxp_error *error);

/** One AdamW step, in place on parameters and both moments (Loshchilov and Hutter 2019; SPEC "AdamW"):
 *  p ← p·(1 − η·λ); m ← β1·m + (1−β1)·g; v ← β2·v + (1−β2)·g²; p ← p − η·(m/(1−β1^k)) / (sqrt(v/(1−β2^k)) + ε).
 *  options    [borrowed] step ≥ 1, betas in [0, 1), epsilon > 0.
 *  all lists  [borrowed] count ids.
 */
HXP_API hxp_status hxp_adamw_step(const hxp_adamw_options *options, const hxp_tensor *parameters, const hxp_tensor *gradients,
                                  const hxp_tensor *exp_avgs, const hxp_tensor *exp_avg_sqs, uint64_t count, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
