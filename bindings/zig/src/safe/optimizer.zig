//! What happens to gradients after backward: global norm, clip, AdamW. Separate as in the C headers.

const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Tensor = @import("tensor.zig").Tensor;
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// AdamW's numbers; none has a default. `step` counts from 1.
pub const AdamW = struct {
    step: u64,
    learning_rate: f64,
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    weight_decay: f64,
};

/// Square root of the f64 sum of squares over all gradients, in order. At least one.
pub fn gradientNorm(gradients: []const Tensor, diagnostics: ?*Diagnostics) Error!f64 {
    var norm: f64 = undefined;
    const status = sys.hxp_gradient_norm(@ptrCast(gradients.ptr), gradients.len, &norm, diag.raw(diagnostics));
    try diag.check(status, diagnostics);
    return norm;
}

/// If norm > clip_norm, multiply every gradient by f32(clip_norm / norm), in place. Says whether it did.
pub fn gradientClip(gradients: []const Tensor, norm: f64, clip_norm: f64, diagnostics: ?*Diagnostics) Error!bool {
    var clipped: i32 = undefined;
    const ids: [*]const sys.hxp_tensor = @ptrCast(gradients.ptr);
    const status = sys.hxp_gradient_clip(ids, gradients.len, norm, clip_norm, &clipped, diag.raw(diagnostics));
    try diag.check(status, diagnostics);
    return clipped != 0;
}

/// One AdamW step, in place on parameters and both moments; the lists are of one length.
pub fn adamwStep(
    options: AdamW,
    parameters: []const Tensor,
    gradients: []const Tensor,
    exp_avgs: []const Tensor,
    exp_avg_sqs: []const Tensor,
    diagnostics: ?*Diagnostics,
) Error!void {
    const count = parameters.len;
    if (gradients.len != count or exp_avgs.len != count or exp_avg_sqs.len != count)
        @panic("the optimizer's lists differ in length");
    var raw: sys.hxp_adamw_options = undefined;
    sys.hxp_adamw_options_init(&raw);
    raw.step = options.step;
    raw.learning_rate = options.learning_rate;
    raw.beta1 = options.beta1;
    raw.beta2 = options.beta2;
    raw.epsilon = options.epsilon;
    raw.weight_decay = options.weight_decay;
    const status = sys.hxp_adamw_step(
        &raw,
        @ptrCast(parameters.ptr),
        @ptrCast(gradients.ptr),
        @ptrCast(exp_avgs.ptr),
        @ptrCast(exp_avg_sqs.ptr),
        count,
        diag.raw(diagnostics),
    );
    return diag.check(status, diagnostics);
}
