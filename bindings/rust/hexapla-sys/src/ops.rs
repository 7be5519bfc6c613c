//! `hexapla/ops.h`: Operations: each makes one new tensor. The header holds the contract; this file holds its shape
//! and nothing else.

use crate::status::{hxp_error, hxp_status};
use crate::tape::hxp_tape;
use crate::tensor::hxp_tensor;

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_embedding(
        tape: hxp_tape,
        table: hxp_tensor,
        ids: *const i32,
        count: u64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_rms_norm(
        tape: hxp_tape,
        x: hxp_tensor,
        gain: hxp_tensor,
        epsilon: f64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_linear(
        tape: hxp_tape,
        x: hxp_tensor,
        w: hxp_tensor,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_lora_linear(
        tape: hxp_tape,
        x: hxp_tensor,
        w: hxp_tensor,
        a: hxp_tensor,
        b: hxp_tensor,
        scale: f64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_rope(
        tape: hxp_tape,
        x: hxp_tensor,
        positions: *const i32,
        count: u64,
        theta: f64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_attention(
        tape: hxp_tape,
        q: hxp_tensor,
        k: hxp_tensor,
        v: hxp_tensor,
        starts: *const i32,
        starts_count: u64,
        causal: i32,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_swiglu(
        tape: hxp_tape,
        gate: hxp_tensor,
        up: hxp_tensor,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_add(
        tape: hxp_tape,
        a: hxp_tensor,
        b: hxp_tensor,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_scale(
        tape: hxp_tape,
        x: hxp_tensor,
        factor: f64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_linear_cross_entropy(
        tape: hxp_tape,
        h: hxp_tensor,
        w: hxp_tensor,
        rows: *const i32,
        targets: *const i32,
        count: u64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_matmul(
        tape: hxp_tape,
        a: hxp_tensor,
        b: hxp_tensor,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_softmax(tape: hxp_tape, x: hxp_tensor, out: *mut hxp_tensor, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_reduce_sum(
        tape: hxp_tape,
        x: hxp_tensor,
        axis: u32,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_transpose(tape: hxp_tape, x: hxp_tensor, out: *mut hxp_tensor, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_reshape(
        tape: hxp_tape,
        x: hxp_tensor,
        rank: u32,
        shape: *const i64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_as_strided(
        tape: hxp_tape,
        x: hxp_tensor,
        rank: u32,
        shape: *const i64,
        strides: *const i64,
        offset: i64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
}
