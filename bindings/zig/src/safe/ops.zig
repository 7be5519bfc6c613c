//! Operations. Each makes one new tensor that the caller owns, and is recorded on `tape` unless that is
//! `Tape.none`. Separate as in the C headers, which say shapes and formulas.

const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Tape = @import("tape.zig").Tape;
const Tensor = @import("tensor.zig").Tensor;
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

fn made(status: sys.hxp_status, out: *const Tensor, diagnostics: ?*Diagnostics) Error!Tensor {
    try diag.check(status, diagnostics);
    return out.*;
}

/// Rows of a table (vocabulary, width): out[i] = table[ids[i]], (ids, width).
pub fn embedding(tape: Tape, table: Tensor, ids: []const i32, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_embedding(tape.id, table.id, ids.ptr, ids.len, &out.id, diag.raw(d)), &out, d);
}

/// gain · x / sqrt(mean(x²) + epsilon) over the last axis; gain (width).
pub fn rmsNorm(tape: Tape, x: Tensor, gain: Tensor, epsilon: f64, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_rms_norm(tape.id, x.id, gain.id, epsilon, &out.id, diag.raw(d)), &out, d);
}

/// x wᵀ: x (rows, in), w (out, in).
pub fn linear(tape: Tape, x: Tensor, w: Tensor, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_linear(tape.id, x.id, w.id, &out.id, diag.raw(d)), &out, d);
}

/// x wᵀ + factor · (x aᵀ) bᵀ: a (rank, in), b (out, rank).
pub fn loraLinear(tape: Tape, x: Tensor, w: Tensor, a: Tensor, b: Tensor, factor: f64, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_lora_linear(tape.id, x.id, w.id, a.id, b.id, factor, &out.id, diag.raw(d)), &out, d);
}

/// Rotary position embedding of x (rows, heads, width), one position a row.
pub fn rope(tape: Tape, x: Tensor, positions: []const i32, theta: f64, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_rope(tape.id, x.id, positions.ptr, positions.len, theta, &out.id, diag.raw(d)), &out, d);
}

/// Grouped-query attention inside records: q (rows, heads, width), k and v (rows, kv_heads, width); `starts`
/// is each record's first row, then the row behind the last record.
pub fn attention(tape: Tape, q: Tensor, k: Tensor, v: Tensor, starts: []const i32, causal: bool, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    const flag: i32 = @intFromBool(causal);
    return made(sys.hxp_attention(tape.id, q.id, k.id, v.id, starts.ptr, starts.len, flag, &out.id, diag.raw(d)), &out, d);
}

/// silu(gate) · up.
pub fn swiglu(tape: Tape, gate: Tensor, up: Tensor, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_swiglu(tape.id, gate.id, up.id, &out.id, diag.raw(d)), &out, d);
}

/// a + b.
pub fn add(tape: Tape, a: Tensor, b: Tensor, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_add(tape.id, a.id, b.id, &out.id, diag.raw(d)), &out, d);
}

/// x · factor.
pub fn scale(tape: Tape, x: Tensor, factor: f64, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_scale(tape.id, x.id, factor, &out.id, diag.raw(d)), &out, d);
}

/// Cross-entropy of a linear head, nll (targets): h (rows, width), w (vocabulary, width); `rows` and `targets`
/// are of one length.
pub fn linearCrossEntropy(
    tape: Tape,
    h: Tensor,
    w: Tensor,
    rows: []const i32,
    targets: []const i32,
    d: ?*Diagnostics,
) Error!Tensor {
    var out: Tensor = undefined;
    if (rows.len != targets.len) @panic("rows and targets differ in length");
    return made(sys.hxp_linear_cross_entropy(tape.id, h.id, w.id, rows.ptr, targets.ptr, rows.len, &out.id, diag.raw(d)), &out, d);
}

/// a b: a (m, k), b (k, n).
pub fn matmul(tape: Tape, a: Tensor, b: Tensor, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_matmul(tape.id, a.id, b.id, &out.id, diag.raw(d)), &out, d);
}

/// Softmax over the last axis; a row of −infinity alone gives zeros.
pub fn softmax(tape: Tape, x: Tensor, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_softmax(tape.id, x.id, &out.id, diag.raw(d)), &out, d);
}

/// Sum over one axis, which is removed.
pub fn reduceSum(tape: Tape, x: Tensor, axis: u32, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_reduce_sum(tape.id, x.id, axis, &out.id, diag.raw(d)), &out, d);
}

/// A view with the last two axes swapped.
pub fn transpose(tape: Tape, x: Tensor, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    return made(sys.hxp_transpose(tape.id, x.id, &out.id, diag.raw(d)), &out, d);
}

/// A view in another shape of as many elements; x contiguous.
pub fn reshape(tape: Tape, x: Tensor, shape: []const i64, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    const rank: u32 = @intCast(shape.len);
    return made(sys.hxp_reshape(tape.id, x.id, rank, shape.ptr, &out.id, diag.raw(d)), &out, d);
}

/// A strided view into x's elements; `shape` and `strides` are of one length, in elements; x contiguous.
pub fn asStrided(tape: Tape, x: Tensor, shape: []const i64, strides: []const i64, offset: i64, d: ?*Diagnostics) Error!Tensor {
    var out: Tensor = undefined;
    if (shape.len != strides.len) @panic("shape and strides differ in length");
    const rank: u32 = @intCast(shape.len);
    return made(sys.hxp_as_strided(tape.id, x.id, rank, shape.ptr, strides.ptr, offset, &out.id, diag.raw(d)), &out, d);
}
