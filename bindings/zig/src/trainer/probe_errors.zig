//! Scenarios of the errors axis: every status provoked, a hook that fails, a full disk.

const std = @import("std");
const hexapla = @import("hexapla");
const adapter_files = @import("adapter.zig");
const checkpoint = @import("checkpoint.zig");
const fault_file = @import("fault.zig");
const statusOf = @import("probe.zig").statusOf;
const train = @import("train.zig");
const Adapter = adapter_files.Adapter;
const Error = fault_file.Error;
const Learner = @import("learner.zig").Learner;
const Model = @import("model.zig").Model;
const Probe = @import("probe.zig").Probe;
const Status = hexapla.Status;
const Tensor = hexapla.Tensor;

const mebibyte = 1 << 20;

pub fn status(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{"status"});
    const name = try fields.string("status");
    const wanted = for (std.enums.values(Status)) |each| {
        if (std.mem.eql(u8, each.name(), name)) break each;
    } else return fields.bad("status", "a status's name");
    const fault = probe.call.fault;
    fault.diagnostics.clear();
    var got: Status = .ok;
    var error_type: []const u8 = "";
    if (provoke(probe, wanted)) |_| {} else |err| switch (err) {
        error.Failed, error.OutOfMemory => return err,
        else => {
            got = fault.diagnostics.status();
            error_type = try std.fmt.allocPrint(probe.call.arena, "error.{t}", .{err});
        },
    }
    probe.send(.{ .status = got.name(), .message = fault.diagnostics.message(), .error_type = error_type });
}

fn provoke(probe: *Probe, wanted: Status) Error!void {
    const d = probe.call.fault.d();
    var chosen = probe.chosen;
    switch (wanted) {
        .out_of_memory, .busy => chosen.options.memory_limit = mebibyte,
        .wrong_thread => chosen.options.owner_only = true,
        .device => chosen.device = "cuda:255",
        .io => return openAndClose("/nonexistent/hexapla", d),
        .format => return provokeFormat(probe),
        else => {},
    }
    var asking: Asking = .{};
    const hook: hexapla.PressureHook = .{ .payload = &asking, .call = Asking.ask };
    if (wanted == .busy) chosen.options.pressure_hook = &hook;
    const context = try chosen.open(probe.call.fault);
    defer context.deinit();
    switch (wanted) {
        .ok => return makeAndRelease(context, &.{1}, d),
        .invalid_argument => return makeAndRelease(context, &.{-1}, d),
        .out_of_memory => return makeAndRelease(context, &.{524288}, d),
        .stale_handle, .wrong_kind, .no_gradient => return misuse(wanted, context, d),
        .wrong_thread => return onThread(context, probe.call.fault),
        .busy => {
            asking.context = context;
            makeAndRelease(context, &.{524288}, null) catch {};
            d.* = asking.diagnostics;
            return asking.answer;
        },
        .not_found, .internal => {
            try context.failNext(wanted, d);
            return makeAndRelease(context, &.{1}, d);
        },
        .unsupported => return (try Tensor.initDtype(context, .f16, &.{1}, d)).release(d),
        .device, .io, .format => {},
    }
}

fn makeAndRelease(context: hexapla.Context, shape: []const i64, d: ?*hexapla.Diagnostics) hexapla.Error!void {
    const tensor = try Tensor.init(context, shape, d);
    return tensor.release(d);
}

fn openAndClose(path: [:0]const u8, d: *hexapla.Diagnostics) hexapla.Error!void {
    const file = try hexapla.Checkpoint.open(path, d);
    file.deinit();
}

fn misuse(wanted: Status, context: hexapla.Context, d: *hexapla.Diagnostics) hexapla.Error!void {
    const tensor = try Tensor.init(context, &.{1}, d);
    if (wanted == .stale_handle) {
        try tensor.release(d);
        var value: [1]f32 = undefined;
        return tensor.read(&value, d);
    }
    defer tensor.deinit();
    if (wanted == .wrong_kind) return hexapla.testing.contextDevice(tensor.id, d);
    const tape = try hexapla.Tape.init(context, d);
    defer tape.deinit();
    return tape.backward(tensor, .none, d);
}

fn onThread(context: hexapla.Context, fault: *fault_file.Fault) Error!void {
    var result: hexapla.Error!void = {};
    const thread = std.Thread.spawn(.{}, makeInto, .{ context, fault.d(), &result }) catch |err|
        return fault.fail("internal", "thread", "cannot start a thread: {t}", .{err});
    thread.join();
    return result;
}

fn makeInto(context: hexapla.Context, d: *hexapla.Diagnostics, result: *hexapla.Error!void) void {
    result.* = makeAndRelease(context, &.{1}, d);
}

/// A hook that asks its own context for a tensor and keeps the answer.
const Asking = struct {
    context: hexapla.Context = undefined,
    answer: hexapla.Error!void = {},
    diagnostics: hexapla.Diagnostics = .{},

    fn ask(payload: ?*anyopaque, _: hexapla.Pressure) anyerror!bool {
        const self: *Asking = @ptrCast(@alignCast(payload.?));
        self.answer = makeAndRelease(self.context, &.{1}, &self.diagnostics);
        return false;
    }
};

fn provokeFormat(probe: *Probe) Error!void {
    const call = probe.call;
    const cwd = std.Io.Dir.cwd();
    const base: []const u8 = if (std.c.getenv("TMPDIR")) |value| std.mem.span(value) else "/tmp";
    const now = std.Io.Timestamp.now(call.io, .real).nanoseconds;
    const folder = try std.fmt.allocPrint(call.arena, "{s}/hexapla-zig-{d}-{d}", .{ base, std.c.getpid(), now });
    cwd.createDir(call.io, folder, .default_dir) catch |err| return call.fault.io(folder, "make", err);
    defer cwd.deleteTree(call.io, folder) catch {};
    const path = try std.fmt.allocPrintSentinel(call.arena, "{s}/bad.safetensors", .{folder}, 0);
    const zeros: [7]u8 = @splat(0);
    cwd.writeFile(call.io, .{ .sub_path = path, .data = &zeros }) catch |err| return call.fault.io(path, "write", err);
    return openAndClose(path, call.fault.d());
}

fn throwing(_: ?*anyopaque, _: hexapla.Pressure) anyerror!bool {
    return error.Thrown;
}

pub fn callbackThrows(probe: *Probe) Error!void {
    _ = try probe.fields(&.{});
    const d = probe.call.fault.d();
    const hook: hexapla.PressureHook = .{ .payload = null, .call = throwing };
    var chosen = probe.chosen;
    chosen.options.memory_limit = mebibyte;
    chosen.options.pressure_hook = &hook;
    var surfaced = false;
    var alive = false;
    const got = blk: {
        const context = try chosen.open(probe.call.fault);
        defer context.deinit();
        const result = makeAndRelease(context, &.{2 * mebibyte / 4}, d);
        const first = statusOf(result, d);
        const thrown = if (d.cause) |cause| cause == error.Thrown else false;
        surfaced = thrown and if (result) |_| false else |err| err == error.PressureHookFailed;
        alive = if (makeAndRelease(context, &.{256}, d)) |_| true else |_| false;
        break :blk first;
    };
    probe.send(.{ .status = got.name(), .surfaced = @intFromBool(surfaced), .alive = @intFromBool(alive) });
}

pub fn writeFails(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "train", "limit_bytes" });
    const limit: u64 = @intCast(try fields.integer("limit_bytes", 0, (1 << 53) - 1));
    const order = try probe.order(fields);
    const call = probe.call;
    const config = try adapter_files.readConfig(call.arena, call.io, order.adapter, order.spec, call.fault);
    const due: checkpoint.Due = .{ .start = 0, .every = 1, .last = 2, .stop_after = null };
    try checkpoint.prepare(call.arena, call.io, order.output, due, call.fault);
    const data: train.Data = try .read(call.allocator, call.arena, call.io, &order, call.fault);
    const writer: checkpoint.Writer = .{
        .output = order.output,
        .adapter_config = config,
        .spec_digest = order.spec_digest,
    };
    var loads = false;
    const word = blk: {
        const context = try probe.context();
        defer context.deinit();
        const model = try Model.load(call.allocator, call.arena, call.io, order.model, context, call.fault);
        defer model.deinit();
        var learner = try order.learner(.{
            .allocator = call.allocator,
            .io = call.io,
            .fault = call.fault,
            .spec = &order.spec,
            .context = context,
            .model = &model,
            .examples = data.train.examples,
        }, call.arena);
        defer learner.deinit();
        _ = try learner.update(1);
        const first = try writer.save(&learner, 1, call.arena);
        const word = try saveUnderLimit(probe, &learner, writer, limit);
        loads = if (load(probe, &order, first, &model, context)) |_| true else |_| false;
        break :blk word;
    };
    probe.send(.{ .status = word, .previous_loads = @intFromBool(loads) });
}

/// Update 2, then its save under a file size limit; the status of the save.
fn saveUnderLimit(probe: *Probe, learner: *Learner, writer: checkpoint.Writer, limit: u64) Error![]const u8 {
    const posix = std.posix;
    const fault = probe.call.fault;
    const before = posix.getrlimit(.FSIZE) catch |err| return fault.fail(
        "internal",
        "RLIMIT_FSIZE",
        "cannot read the limit: {t}",
        .{err},
    );
    const ignore: posix.Sigaction = .{ .handler = .{ .handler = posix.SIG.IGN }, .mask = posix.sigemptyset(), .flags = 0 };
    var handler: posix.Sigaction = undefined;
    posix.sigaction(.XFSZ, &ignore, &handler);
    defer posix.sigaction(.XFSZ, &handler, null);
    posix.setrlimit(.FSIZE, .{ .cur = limit, .max = before.max }) catch |err|
        return fault.fail("internal", "RLIMIT_FSIZE", "cannot set the limit: {t}", .{err});
    defer posix.setrlimit(.FSIZE, before) catch {};
    _ = try learner.update(2);
    if (writer.save(learner, 2, probe.call.arena)) |_| return Status.ok.name() else |err| return fault_file.statusOf(fault, err);
}

/// Names, shapes and metadata of a checkpoint.
fn load(probe: *Probe, order: *const train.Order, folder: []const u8, model: *const Model, context: hexapla.Context) Error!void {
    const call = probe.call;
    const fault = call.fault;
    const update = try checkpoint.savedUpdate(call.arena, folder, order.spec_digest, fault);
    if (update != 1) return fault.fail("checkpoint", folder, "update is {d}, must be 1", .{update});
    _ = try adapter_files.readConfig(call.arena, call.io, folder, order.spec, fault);
    const adapter = try Adapter.load(call.allocator, call.arena, folder, model.config, order.spec, context, fault);
    defer adapter.deinit();
    const moments = try checkpoint.readMoments(call.allocator, call.arena, folder, model.config, order.spec, context, fault);
    adapter_files.free(call.allocator, moments.exp_avg);
    adapter_files.free(call.allocator, moments.exp_avg_sq);
}
