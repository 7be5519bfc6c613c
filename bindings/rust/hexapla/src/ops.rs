//! Operations. Each makes one new tensor from tensors of one context, and is recorded when it is given a tape and one
//! of its inputs needs a gradient there. Shapes are written (rows, columns).
//!
//! Errors are the same for all: `InvalidArgument` for a shape, size or index that does not fit, `OutOfMemory`
//! (everything is as it was), `WrongThread`, `Busy`.
#![allow(clippy::missing_errors_doc)] // The module says it once for all.

use hexapla_sys as sys;

use crate::error::{Result, made};
use crate::tape::Tape;
use crate::tensor::{Tensor, rank};

/// One call of an operation. `like` is an input: the result lives in its context.
fn operation(
    tape: Option<&Tape>,
    like: &Tensor,
    call: impl FnOnce(u64, *mut u64, *mut sys::hxp_error) -> sys::hxp_status,
) -> Result<Tensor> {
    let tape = tape.map_or(0, |tape| tape.0.value);
    Ok(like.sibling(made(|out, error| call(tape, out, error))?))
}

/// Rows of a table: table (vocabulary, width), result (ids, width).
pub fn embedding(tape: Option<&Tape>, table: &Tensor, ids: &[i32]) -> Result<Tensor> {
    operation(tape, table, |tape, out, error| {
        // SAFETY: ids has the length that is passed with it; out and error point to locals of this call chain.
        unsafe { sys::hxp_embedding(tape, table.0.value, ids.as_ptr(), ids.len() as u64, out, error) }
    })
}

/// Root mean square norm over the last axis: gain · x / sqrt(mean(x²) + epsilon). x (…, width), gain (width).
pub fn rms_norm(tape: Option<&Tape>, x: &Tensor, gain: &Tensor, epsilon: f64) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_rms_norm(tape, x.0.value, gain.0.value, epsilon, out, error) }
    })
}

/// x wᵀ: x (rows, in), w (out, in), result (rows, out).
pub fn linear(tape: Option<&Tape>, x: &Tensor, w: &Tensor) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_linear(tape, x.0.value, w.0.value, out, error) }
    })
}

/// x wᵀ + scale · (x aᵀ) bᵀ: x (rows, in), w (out, in), a (rank, in), b (out, rank), result (rows, out).
pub fn lora_linear(tape: Option<&Tape>, x: &Tensor, w: &Tensor, a: &Tensor, b: &Tensor, scale: f64) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_lora_linear(tape, x.0.value, w.0.value, a.0.value, b.0.value, scale, out, error) }
    })
}

/// Rotary position embedding over half-split pairs (i, i + width/2). x (rows, heads, width), one position ≥ 0 a row.
pub fn rope(tape: Option<&Tape>, x: &Tensor, positions: &[i32], theta: f64) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: positions has the length that is passed with it; out and error point to locals of this call chain.
        unsafe { sys::hxp_rope(tape, x.0.value, positions.as_ptr(), positions.len() as u64, theta, out, error) }
    })
}

/// Grouped-query attention inside records laid end to end. q (rows, heads, width); k, v (rows, kv_heads, width);
/// `starts` holds each record's first row, then the row behind the last record. Rows behind it give zero output and
/// zero gradient.
pub fn attention(
    tape: Option<&Tape>,
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    starts: &[i32],
    causal: bool,
) -> Result<Tensor> {
    operation(tape, q, |tape, out, error| {
        let (q, k, v, count) = (q.0.value, k.0.value, v.0.value, starts.len() as u64);
        // SAFETY: starts has the length that is passed with it; out and error point to locals of this call chain.
        unsafe { sys::hxp_attention(tape, q, k, v, starts.as_ptr(), count, i32::from(causal), out, error) }
    })
}

/// silu(gate) · up, element by element; both of one shape.
pub fn swiglu(tape: Option<&Tape>, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    operation(tape, gate, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_swiglu(tape, gate.0.value, up.0.value, out, error) }
    })
}

/// a + b, both of one shape.
pub fn add(tape: Option<&Tape>, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    operation(tape, a, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_add(tape, a.0.value, b.0.value, out, error) }
    })
}

/// x · factor.
pub fn scale(tape: Option<&Tape>, x: &Tensor, factor: f64) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_scale(tape, x.0.value, factor, out, error) }
    })
}

/// Cross-entropy of a linear head at chosen rows: h (rows, width), w (vocabulary, width), result (targets), each −log
/// softmax(h\[rows\[i\]\] wᵀ)\[targets\[i\]\]. `rows` and `targets` are of one length; another is refused here, since
/// core is told only one.
pub fn linear_cross_entropy(
    tape: Option<&Tape>,
    h: &Tensor,
    w: &Tensor,
    rows: &[i32],
    targets: &[i32],
) -> Result<Tensor> {
    if rows.len() != targets.len() {
        let text = format!("{} rows and {} targets must be as many", rows.len(), targets.len());
        return Err(crate::Error::new(crate::Status::InvalidArgument, text));
    }
    operation(tape, h, |tape, out, error| {
        let (h, w, count) = (h.0.value, w.0.value, rows.len() as u64);
        // SAFETY: rows and targets have the length that is passed with them; out and error point to locals of this
        // call chain.
        unsafe { sys::hxp_linear_cross_entropy(tape, h, w, rows.as_ptr(), targets.as_ptr(), count, out, error) }
    })
}

/// a b: a (m, k), b (k, n), result (m, n).
pub fn matmul(tape: Option<&Tape>, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    operation(tape, a, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_matmul(tape, a.0.value, b.0.value, out, error) }
    })
}

/// Softmax over the last axis. A row of −infinity alone gives zeros, and zero gradient.
pub fn softmax(tape: Option<&Tape>, x: &Tensor) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_softmax(tape, x.0.value, out, error) }
    })
}

/// Sum over one axis, which is removed (of a one-axis tensor: result (1)).
pub fn reduce_sum(tape: Option<&Tape>, x: &Tensor, axis: u32) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_reduce_sum(tape, x.0.value, axis, out, error) }
    })
}

/// A view of x with its last two axes swapped; shares x's storage.
pub fn transpose(tape: Option<&Tape>, x: &Tensor) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: out and error point to locals of this call chain.
        unsafe { sys::hxp_transpose(tape, x.0.value, out, error) }
    })
}

/// x, contiguous, in another shape of as many elements: a view that shares x's storage.
pub fn reshape(tape: Option<&Tape>, x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    operation(tape, x, |tape, out, error| {
        // SAFETY: shape has the length that is passed with it; out and error point to locals of this call chain.
        unsafe { sys::hxp_reshape(tape, x.0.value, rank(shape), shape.as_ptr(), out, error) }
    })
}

/// A strided view into x's elements, x contiguous; strides and offset in elements, a stride of 0 repeats. `shape` and
/// `strides` are of one length; another is refused here, since core is told only one.
pub fn as_strided(tape: Option<&Tape>, x: &Tensor, shape: &[i64], strides: &[i64], offset: i64) -> Result<Tensor> {
    if shape.len() != strides.len() {
        let text = format!("{} sizes and {} strides must be as many", shape.len(), strides.len());
        return Err(crate::Error::new(crate::Status::InvalidArgument, text));
    }
    operation(tape, x, |tape, out, error| {
        let (x, rank) = (x.0.value, rank(shape));
        // SAFETY: shape and strides have the length that is passed with them; out and error point to locals of this
        // call chain.
        unsafe { sys::hxp_as_strided(tape, x, rank, shape.as_ptr(), strides.as_ptr(), offset, out, error) }
    })
}
