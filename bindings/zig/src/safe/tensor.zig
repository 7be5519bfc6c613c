//! Tensors: device memory with a shape. Separate as in the C headers; operations are in ops.zig.

const std = @import("std");
const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Context = @import("context.zig").Context;
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// Storage types. Tensors compute in f32; the others only occur in files and are widened on load.
pub const Dtype = enum(i32) {
    f32 = sys.HXP_DTYPE_F32,
    f16 = sys.HXP_DTYPE_F16,
    bf16 = sys.HXP_DTYPE_BF16,
};

/// Shape, strides and sizes of a tensor.
pub const Info = struct {
    raw: sys.hxp_tensor_info,

    pub fn shape(self: *const Info) []const i64 {
        return self.raw.shape[0..self.raw.rank];
    }

    /// In elements.
    pub fn strides(self: *const Info) []const i64 {
        return self.raw.strides[0..self.raw.rank];
    }
};

/// A share of a tensor. Plain copies of this struct are the same share: release it once, `retain` for a second
/// owner, who sees the same values. Layout of a C `hxp_tensor`, so that a slice of them is a C array.
pub const Tensor = extern struct {
    id: sys.hxp_tensor,

    /// No tensor: accepted where a parameter says so.
    pub const none: Tensor = .{ .id = 0 };

    /// Make a tensor of zeros, f32.
    pub fn init(owner: Context, shape: []const i64, diagnostics: ?*Diagnostics) Error!Tensor {
        return initDtype(owner, .f32, shape, diagnostics);
    }

    /// As `init`; any dtype but f32 is `Unsupported`.
    pub fn initDtype(owner: Context, dtype: Dtype, shape: []const i64, diagnostics: ?*Diagnostics) Error!Tensor {
        var self: Tensor = undefined;
        const rank: u32 = @intCast(shape.len);
        const status = sys.hxp_tensor_create(owner.id, @backingInt(dtype), rank, shape.ptr, &self.id, diag.raw(diagnostics));
        try diag.check(status, diagnostics);
        return self;
    }

    /// Make a tensor that holds `values`, row-major.
    pub fn fromSlice(owner: Context, shape: []const i64, values: []const f32, diagnostics: ?*Diagnostics) Error!Tensor {
        const self = try init(owner, shape, diagnostics);
        errdefer self.deinit();
        try self.write(values, diagnostics);
        return self;
    }

    /// Give this share back. Any thread, at any time; waits for nothing.
    pub fn deinit(self: Tensor) void {
        diag.released(sys.hxp_tensor_release(self.id, null), "tensor");
    }

    /// As `deinit`, for a caller who wants to hear of a second release.
    pub fn release(self: Tensor, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_tensor_release(self.id, diag.raw(diagnostics)), diagnostics);
    }

    /// A second owner of the same values.
    pub fn retain(self: Tensor, diagnostics: ?*Diagnostics) Error!Tensor {
        var copy: Tensor = undefined;
        try diag.check(sys.hxp_tensor_retain(self.id, &copy.id, diag.raw(diagnostics)), diagnostics);
        return copy;
    }

    pub fn describe(self: Tensor, diagnostics: ?*Diagnostics) Error!Info {
        var info: Info = undefined;
        sys.hxp_tensor_info_init(&info.raw);
        try diag.check(sys.hxp_tensor_describe(self.id, &info.raw, diag.raw(diagnostics)), diagnostics);
        return info;
    }

    /// The context that the tensor lives in; an owner of its own.
    pub fn context(self: Tensor, diagnostics: ?*Diagnostics) Error!Context {
        var out: Context = undefined;
        try diag.check(sys.hxp_tensor_context(self.id, &out.id, diag.raw(diagnostics)), diagnostics);
        return out;
    }

    /// The name of the device that the buffer really lies on, written into `buffer`.
    pub fn device(self: Tensor, buffer: *[32]u8, diagnostics: ?*Diagnostics) Error![]const u8 {
        try diag.check(sys.hxp_tensor_device(self.id, buffer, buffer.len, diag.raw(diagnostics)), diagnostics);
        return std.mem.sliceTo(buffer, 0);
    }

    /// Copy host values in, row-major; as many as the tensor has.
    pub fn write(self: Tensor, values: []const f32, diagnostics: ?*Diagnostics) Error!void {
        const bytes = std.mem.sliceAsBytes(values);
        return diag.check(sys.hxp_tensor_write(self.id, bytes.ptr, bytes.len, diag.raw(diagnostics)), diagnostics);
    }

    /// Copy all values out, row-major; `out` must hold at least as many. Blocks until done.
    pub fn read(self: Tensor, out: []f32, diagnostics: ?*Diagnostics) Error!void {
        const bytes = std.mem.sliceAsBytes(out);
        return diag.check(sys.hxp_tensor_read(self.id, bytes.ptr, bytes.len, diag.raw(diagnostics)), diagnostics);
    }

    /// All values in memory of `allocator`; the caller frees it.
    pub fn readAlloc(self: Tensor, allocator: std.mem.Allocator, diagnostics: ?*Diagnostics) (Error || error{OutOfMemory})![]f32 {
        const info = try self.describe(diagnostics);
        const out = try allocator.alloc(f32, info.raw.elements);
        errdefer allocator.free(out);
        try self.read(out, diagnostics);
        return out;
    }

    /// Set every element, in place.
    pub fn fill(self: Tensor, value: f64, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_tensor_fill(self.id, value, diag.raw(diagnostics)), diagnostics);
    }

    /// Add a number to every element, in place; every owner and view sees it.
    pub fn addInPlace(self: Tensor, value: f64, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_tensor_add_in_place(self.id, value, diag.raw(diagnostics)), diagnostics);
    }
};

/// 64 lower-case hex digits.
pub const Digest = [64]u8;

/// SHA-256 over the f32 little-endian values of the tensors, one after the other. At least one tensor.
pub fn digest(tensors: []const Tensor, diagnostics: ?*Diagnostics) Error!Digest {
    var text: [65]u8 = undefined;
    const status = sys.hxp_tensor_digest(@ptrCast(tensors.ptr), tensors.len, &text, text.len, diag.raw(diagnostics));
    try diag.check(status, diagnostics);
    return text[0..64].*;
}
