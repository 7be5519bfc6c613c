//! How a core status becomes a Zig error, and where its text goes. Separate because every other file of the
//! safe layer ends its calls here. A Zig error carries no payload: the text lands in the `Diagnostics` that
//! the caller passed to the failing call, never in anything shared between calls.

const std = @import("std");
const sys = @import("../sys.zig");

/// A core status other than HXP_OK, one error for each. `DeviceOutOfMemory` is the context's limit or the
/// device, never the host's allocator. `PressureHookFailed` is HXP_OUT_OF_MEMORY whose pressure hook
/// returned an error of its own: `Diagnostics.cause` holds that.
pub const Error = error{
    InvalidArgument,
    DeviceOutOfMemory,
    PressureHookFailed,
    StaleHandle,
    WrongKind,
    WrongThread,
    Busy,
    Device,
    NoGradient,
    Io,
    Format,
    NotFound,
    Unsupported,
    Internal,
};

/// The core's statuses, to name one where a number is needed (`Context.failNext`).
pub const Status = enum(sys.hxp_status) {
    ok = sys.HXP_OK,
    invalid_argument = sys.HXP_INVALID_ARGUMENT,
    out_of_memory = sys.HXP_OUT_OF_MEMORY,
    stale_handle = sys.HXP_STALE_HANDLE,
    wrong_kind = sys.HXP_WRONG_KIND,
    wrong_thread = sys.HXP_WRONG_THREAD,
    busy = sys.HXP_BUSY,
    device = sys.HXP_DEVICE,
    no_gradient = sys.HXP_NO_GRADIENT,
    io = sys.HXP_IO,
    format = sys.HXP_FORMAT,
    not_found = sys.HXP_NOT_FOUND,
    unsupported = sys.HXP_UNSUPPORTED,
    internal = sys.HXP_INTERNAL,

    /// The status's C name, "HXP_OUT_OF_MEMORY".
    pub fn name(status: Status) [:0]const u8 {
        return std.mem.span(sys.hxp_status_name(@backingInt(status)).?);
    }
};

/// Where a failing call leaves its status and text. One for each thread of work; reused freely, since a call
/// writes to it only when it fails.
pub const Diagnostics = struct {
    raw: sys.hxp_error = .{
        .struct_size = @sizeOf(sys.hxp_error),
        .status = sys.HXP_OK,
        .message = @splat(0),
    },
    /// What a pressure hook returned, when the error is `PressureHookFailed`.
    cause: ?anyerror = null,

    /// The last failing call's text, byte for byte as the core wrote it; "" before any failure.
    pub fn message(self: *const Diagnostics) []const u8 {
        return std.mem.sliceTo(&self.raw.message, 0);
    }

    /// The last failing call's status; `.ok` before any failure.
    pub fn status(self: *const Diagnostics) Status {
        return @fromBackingInt(@intCast(self.raw.status));
    }

    /// Forget the last failure.
    pub fn clear(self: *Diagnostics) void {
        self.raw.status = sys.HXP_OK;
        self.raw.message[0] = 0;
        self.cause = null;
    }
};

/// What the hook that runs inside the current call returned. The hook runs on the calling thread and `check`
/// empties this before that same call returns to its caller, so nothing outlives a call here.
pub threadlocal var hook_error: ?anyerror = null;

/// The C struct to pass down.
pub fn raw(diagnostics: ?*Diagnostics) ?*sys.hxp_error {
    return if (diagnostics) |d| &d.raw else null;
}

/// Turn a status into an error. A number that this binding does not know is a bug in the core: it panics.
pub fn check(status: sys.hxp_status, diagnostics: ?*Diagnostics) Error!void {
    switch (status) {
        sys.HXP_OK => {},
        sys.HXP_INVALID_ARGUMENT => return error.InvalidArgument,
        sys.HXP_OUT_OF_MEMORY => {
            const cause = hook_error;
            hook_error = null;
            if (diagnostics) |d| d.cause = cause;
            return if (cause == null) error.DeviceOutOfMemory else error.PressureHookFailed;
        },
        sys.HXP_STALE_HANDLE => return error.StaleHandle,
        sys.HXP_WRONG_KIND => return error.WrongKind,
        sys.HXP_WRONG_THREAD => return error.WrongThread,
        sys.HXP_BUSY => return error.Busy,
        sys.HXP_DEVICE => return error.Device,
        sys.HXP_NO_GRADIENT => return error.NoGradient,
        sys.HXP_IO => return error.Io,
        sys.HXP_FORMAT => return error.Format,
        sys.HXP_NOT_FOUND => return error.NotFound,
        sys.HXP_UNSUPPORTED => return error.Unsupported,
        sys.HXP_INTERNAL => return error.Internal,
        else => std.debug.panic("the core answered status {d}, which is none", .{status}),
    }
}

/// End a `deinit`: releasing cannot fail unless the handle was released before, which is the caller's bug.
pub fn released(status: sys.hxp_status, comptime noun: []const u8) void {
    if (status != sys.HXP_OK)
        std.log.scoped(.hexapla).warn("{s} released twice (status {d})", .{ noun, status });
}
