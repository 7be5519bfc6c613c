//! What happens to gradients after backward: global norm, clip, AdamW. All tensors contiguous, of one context; the
//! i-th of each list belong together.

use hexapla_sys as sys;

use crate::error::{Error, Result, Status, check};
use crate::tensor::{Tensor, ids};

/// The numbers of one AdamW step. None has a default.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // The names are those of docs/spec.md.
pub struct AdamW {
    /// k, from 1.
    pub step: u64,
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
}

/// Square root of the f64 sum of squares over all gradients, in the order given. Not finite when a gradient is not.
///
/// # Errors
/// `InvalidArgument` when there is none.
pub fn gradient_norm(gradients: &[Tensor]) -> Result<f64> {
    let ids = ids(gradients);
    let mut norm = 0.0;
    // SAFETY: ids has the length that is passed with it; norm and error point to locals of this call chain.
    check(|error| unsafe { sys::hxp_gradient_norm(ids.as_ptr(), ids.len() as u64, &mut norm, error) })?;
    Ok(norm)
}

/// If norm > clip_norm, multiply every gradient by f32(clip_norm / norm), in place; else leave them alone. Says
/// whether it did.
///
/// # Errors
/// `InvalidArgument` when there is none.
pub fn gradient_clip(gradients: &[Tensor], norm: f64, clip_norm: f64) -> Result<bool> {
    let ids = ids(gradients);
    let mut clipped = 0;
    check(|error| {
        // SAFETY: ids has the length that is passed with it; clipped and error point to locals of this call chain.
        unsafe { sys::hxp_gradient_clip(ids.as_ptr(), ids.len() as u64, norm, clip_norm, &mut clipped, error) }
    })?;
    Ok(clipped != 0)
}

/// One AdamW step, in place on parameters and both moments.
///
/// # Errors
/// `InvalidArgument` for lists of different lengths, shapes that differ, or a number out of its range.
pub fn adamw_step(
    numbers: &AdamW,
    parameters: &[Tensor],
    gradients: &[Tensor],
    exp_avgs: &[Tensor],
    exp_avg_sqs: &[Tensor],
) -> Result<()> {
    let count = parameters.len();
    if [gradients.len(), exp_avgs.len(), exp_avg_sqs.len()] != [count; 3] {
        let text = format!("{count} parameters want as many gradients and moments");
        return Err(Error::new(Status::InvalidArgument, text));
    }
    let options = sys::hxp_adamw_options {
        struct_size: size_of::<sys::hxp_adamw_options>() as u32,
        reserved: 0,
        step: numbers.step,
        learning_rate: numbers.learning_rate,
        beta1: numbers.beta1,
        beta2: numbers.beta2,
        epsilon: numbers.epsilon,
        weight_decay: numbers.weight_decay,
    };
    let [parameters, gradients, exp_avgs, exp_avg_sqs] = [parameters, gradients, exp_avgs, exp_avg_sqs].map(ids);
    check(|error| {
        // SAFETY: all four lists hold count ids (compared above); options and error point to locals of this call chain.
        unsafe {
            sys::hxp_adamw_step(
                &options,
                parameters.as_ptr(),
                gradients.as_ptr(),
                exp_avgs.as_ptr(),
                exp_avg_sqs.as_ptr(),
                count as u64,
                error,
            )
        }
    })
}
