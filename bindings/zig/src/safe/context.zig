//! Contexts: one device, its memory account, its workers and its ledger. Separate as in the C headers.

const std = @import("std");
const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// What a pressure hook is told, in bytes.
pub const Pressure = struct { need: u64, live: u64, limit: u64 };

/// Called on the thread whose allocation would fail, with no lock held. True: memory may have come free, try
/// again. False: give up. An error gives up too and surfaces from the call as `PressureHookFailed`. Inside
/// it releases and memory queries work; any other call on the context answers `Busy`.
pub const PressureHook = struct {
    payload: ?*anyopaque,
    call: *const fn (payload: ?*anyopaque, pressure: Pressure) anyerror!bool,

    fn trampoline(payload: ?*anyopaque, need: u64, live: u64, limit: u64) callconv(.c) i32 {
        const hook: *const PressureHook = @ptrCast(@alignCast(payload.?));
        const again = hook.call(hook.payload, .{ .need = need, .live = live, .limit = limit }) catch |err| {
            diag.hook_error = err;
            return 0;
        };
        return @intFromBool(again);
    }
};

/// How a context is made. The hook must outlive the context.
pub const Options = struct {
    /// Worker threads, 1 … 256; never changes a result.
    threads: u32 = 1,
    /// Bytes; 0 = none.
    memory_limit: u64 = 0,
    /// Past the limit, buffers go to host memory instead of failing.
    spill: bool = false,
    /// Only the thread that makes the context may call it.
    owner_only: bool = false,
    /// A file to map as the ledger.
    ledger: ?[:0]const u8 = null,
    pressure_hook: ?*const PressureHook = null,
    pressure_retries: ?u32 = null,
};

/// A memory account; `hexapla.h` says what each number is.
pub const Memory = sys.hxp_memory;

/// The account of the whole process: all contexts, and every live handle of every kind.
pub fn processMemory(diagnostics: ?*Diagnostics) Error!Memory {
    var memory: Memory = undefined;
    sys.hxp_memory_init(&memory);
    try diag.check(sys.hxp_process_memory(&memory, diag.raw(diagnostics)), diagnostics);
    return memory;
}

/// A share of a context. Plain copies of this struct are the same share: release it once, `retain` for a
/// second owner.
pub const Context = extern struct {
    id: sys.hxp_context,

    /// Make a context on "cpu:N" or "cuda:N".
    pub fn init(device_name: [:0]const u8, options: Options, diagnostics: ?*Diagnostics) Error!Context {
        var raw: sys.hxp_context_options = undefined;
        sys.hxp_context_options_init(&raw);
        raw.threads = options.threads;
        raw.memory_limit = options.memory_limit;
        if (options.spill) raw.flags |= sys.HXP_SPILL;
        if (options.owner_only) raw.flags |= sys.HXP_THREADS_OWNER;
        if (options.ledger) |path| raw.ledger_path = path.ptr;
        if (options.pressure_retries) |retries| raw.pressure_retries = retries;
        if (options.pressure_hook) |hook| {
            raw.pressure_hook = PressureHook.trampoline;
            raw.pressure_payload = @constCast(hook);
        }
        var self: Context = undefined;
        try diag.check(sys.hxp_context_create(device_name.ptr, &raw, &self.id, diag.raw(diagnostics)), diagnostics);
        return self;
    }

    /// Give this share back. The context ends with its last share, its tensors' included.
    pub fn deinit(self: Context) void {
        diag.released(sys.hxp_context_release(self.id, null), "context");
    }

    /// As `deinit`, for a caller who wants to hear of a second release.
    pub fn release(self: Context, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_context_release(self.id, diag.raw(diagnostics)), diagnostics);
    }

    /// A second owner.
    pub fn retain(self: Context, diagnostics: ?*Diagnostics) Error!Context {
        var copy: Context = undefined;
        try diag.check(sys.hxp_context_retain(self.id, &copy.id, diag.raw(diagnostics)), diagnostics);
        return copy;
    }

    /// The device's name, written into `buffer`.
    pub fn device(self: Context, buffer: *[32]u8, diagnostics: ?*Diagnostics) Error![]const u8 {
        try diag.check(sys.hxp_context_device(self.id, buffer, buffer.len, diag.raw(diagnostics)), diagnostics);
        return std.mem.sliceTo(buffer, 0);
    }

    /// The context's memory account. Never waits; works inside the pressure hook.
    pub fn memory(self: Context, diagnostics: ?*Diagnostics) Error!Memory {
        var out: Memory = undefined;
        sys.hxp_memory_init(&out);
        try diag.check(sys.hxp_context_memory(self.id, &out, diag.raw(diagnostics)), diagnostics);
        return out;
    }

    /// Let the peak start again from the live bytes.
    pub fn resetPeak(self: Context, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_context_reset_peak(self.id, diag.raw(diagnostics)), diagnostics);
    }

    /// Stamp the ledger: the records that follow belong to this update.
    pub fn mark(self: Context, update: u64, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_context_mark(self.id, update, diag.raw(diagnostics)), diagnostics);
    }

    /// Wait until everything queued on the device is done.
    pub fn synchronize(self: Context, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_context_synchronize(self.id, diag.raw(diagnostics)), diagnostics);
    }

    /// For tests: the nth allocation from now fails (0 switches it off); `persistent`: all after it too.
    pub fn failAllocation(self: Context, nth: u64, persistent: bool, diagnostics: ?*Diagnostics) Error!void {
        const flag: i32 = @intFromBool(persistent);
        return diag.check(sys.hxp_context_fail_allocation(self.id, nth, flag, diag.raw(diagnostics)), diagnostics);
    }

    /// For tests: the next call on this context answers `status`.
    pub fn failNext(self: Context, status: diag.Status, diagnostics: ?*Diagnostics) Error!void {
        const number = @backingInt(status);
        return diag.check(sys.hxp_context_fail_next(self.id, number, diag.raw(diagnostics)), diagnostics);
    }
};
