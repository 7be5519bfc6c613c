//! Hexapla's core for Zig: contexts, tensors, tapes, operations, optimizer, checkpoints, tokenizers.
//!
//! Every handle is a share that its owner gives back once with `deinit` (`defer`, `errdefer`); `retain` makes
//! a second owner, who sees the same values. Every call that can fail takes a `?*Diagnostics` last: the error
//! says what happened, the diagnostics hold the core's text. Host memory comes from the allocator passed in.
//! Any thread may make any call.

const std = @import("std");
const sys = @import("sys.zig");
const diagnostics = @import("safe/diagnostics.zig");
const context = @import("safe/context.zig");
const tensor = @import("safe/tensor.zig");

pub const Diagnostics = diagnostics.Diagnostics;
pub const Error = diagnostics.Error;
pub const Status = diagnostics.Status;
pub const Context = context.Context;
pub const Memory = context.Memory;
pub const Options = context.Options;
pub const Pressure = context.Pressure;
pub const PressureHook = context.PressureHook;
pub const processMemory = context.processMemory;
pub const Dtype = tensor.Dtype;
pub const Tensor = tensor.Tensor;
pub const TensorInfo = tensor.Info;
pub const Digest = tensor.Digest;
pub const digest = tensor.digest;
pub const Tape = @import("safe/tape.zig").Tape;
pub const ops = @import("safe/ops.zig");
pub const optimizer = @import("safe/optimizer.zig");
pub const checkpoint = @import("safe/checkpoint.zig");
pub const Checkpoint = checkpoint.Checkpoint;
pub const Tokenizer = @import("safe/tokenizer.zig").Tokenizer;
pub const Gate = @import("safe/gate.zig").Gate;
pub const testing = @import("testing.zig");

/// The ABI version that the loaded library was built for.
pub fn abiVersion() u32 {
    return sys.hxp_abi_version();
}

/// Compare the loaded library with the headers that this binding repeats. Call it once, first.
pub fn checkAbi() error{AbiMismatch}!void {
    if (abiVersion() != sys.HXP_ABI_VERSION) return error.AbiMismatch;
}

/// One line that names version, commit, compiler, CPU, BLAS, backends and faults of the core.
pub fn buildInfo() [:0]const u8 {
    return std.mem.span(sys.hxp_build_info());
}

/// The fault switches compiled into the core, comma-separated; "" in a normal build.
pub fn buildFaults() [:0]const u8 {
    return std.mem.span(sys.hxp_build_faults());
}

test {
    std.testing.refAllDecls(@This());
}
