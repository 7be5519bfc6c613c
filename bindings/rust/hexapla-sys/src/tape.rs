//! `hexapla/tape.h`: A tape: an explicit record of operations, and the way back through it. The header holds the
//! contract; this file holds its shape and nothing else.

use crate::context::hxp_context;
use crate::status::{hxp_error, hxp_status};
use crate::tensor::hxp_tensor;

pub type hxp_tape = u64;

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_tape_create(context: hxp_context, out: *mut hxp_tape, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tape_retain(tape: hxp_tape, out: *mut hxp_tape, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tape_release(tape: hxp_tape, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tape_watch(
        tape: hxp_tape,
        tensor: hxp_tensor,
        gradient: hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_tape_gradient(
        tape: hxp_tape,
        tensor: hxp_tensor,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_tape_backward(
        tape: hxp_tape,
        output: hxp_tensor,
        incoming: hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_tape_reset(tape: hxp_tape, error: *mut hxp_error) -> hxp_status;
}
