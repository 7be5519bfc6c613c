//! `hexapla/optimizer.h`: After backward: global norm, clip, AdamW. The header holds the contract; this file holds
//! its shape and nothing else.

use crate::status::{hxp_error, hxp_status};
use crate::tensor::hxp_tensor;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_adamw_options {
    pub struct_size: u32,
    pub reserved: u32,
    pub step: u64,
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
}

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_adamw_options_init(options: *mut hxp_adamw_options);
    pub fn hxp_gradient_norm(
        gradients: *const hxp_tensor,
        count: u64,
        out: *mut f64,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_gradient_clip(
        gradients: *const hxp_tensor,
        count: u64,
        norm: f64,
        clip_norm: f64,
        clipped_out: *mut i32,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_adamw_step(
        options: *const hxp_adamw_options,
        parameters: *const hxp_tensor,
        gradients: *const hxp_tensor,
        exp_avgs: *const hxp_tensor,
        exp_avg_sqs: *const hxp_tensor,
        count: u64,
        error: *mut hxp_error,
    ) -> hxp_status;
}
