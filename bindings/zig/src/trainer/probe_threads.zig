//! Scenarios of the threads axis: contexts and errors used by many threads at once. A task is a std.Thread.

const std = @import("std");
const hexapla = @import("hexapla");
const render = @import("render.zig");
const train = @import("train.zig");
const Error = @import("fault.zig").Error;
const Fault = @import("fault.zig").Fault;
const Learner = @import("learner.zig").Learner;
const Model = @import("model.zig").Model;
const Probe = @import("probe.zig").Probe;
const Tensor = hexapla.Tensor;

/// Threads that are joined together.
const Group = struct {
    allocator: std.mem.Allocator,
    fault: *Fault,
    threads: std.ArrayList(std.Thread) = .empty,

    fn spawn(self: *Group, comptime function: anytype, arguments: anytype) Error!void {
        try self.threads.ensureUnusedCapacity(self.allocator, 1);
        const thread = std.Thread.spawn(.{}, function, arguments) catch |err|
            return self.fault.fail("internal", "thread", "cannot start a thread: {t}", .{err});
        self.threads.appendAssumeCapacity(thread);
    }

    /// Wait for all. Twice does nothing.
    fn join(self: *Group) void {
        for (self.threads.items) |thread| thread.join();
        self.threads.clearAndFree(self.allocator);
    }
};

/// What workers count together.
const Counts = struct {
    first: std.atomic.Value(u64) = .init(0),
    second: std.atomic.Value(u64) = .init(0),
    third: std.atomic.Value(u64) = .init(0),

    fn add(counter: *std.atomic.Value(u64)) void {
        _ = counter.fetchAdd(1, .monotonic);
    }
};

pub fn deviceOfContext(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "workers", "rounds", "blocked" });
    const workers: usize = @intCast(try fields.integer("workers", 1, 4096));
    const rounds: u64 = @intCast(try fields.integer("rounds", 1, 1 << 32));
    const blocked: usize = @intCast(try fields.integer("blocked", 0, 4096));
    const fault = probe.call.fault;
    var counts: Counts = .{};
    {
        const gate = try hexapla.Gate.init(fault.d());
        defer gate.deinit();
        var waiting: Group = .{ .allocator = probe.call.allocator, .fault = fault };
        defer waiting.join();
        // Runs before the join above, also when a thread could not be started.
        defer gate.open(null) catch unreachable;
        for (0..blocked) |_| try waiting.spawn(waitAtGate, .{gate});
        var working: Group = .{ .allocator = probe.call.allocator, .fault = fault };
        defer working.join();
        for (0..workers) |w| try working.spawn(deviceWorker, .{ w, rounds, probe.chosen.options, &counts });
    }
    probe.send(.{ .right = counts.first.raw, .wrong = counts.second.raw, .errors = counts.third.raw });
}

fn waitAtGate(gate: hexapla.Gate) void {
    gate.wait(null) catch unreachable;
}

fn deviceWorker(w: usize, rounds: u64, options: hexapla.Options, counts: *Counts) void {
    for (0..rounds) |_| {
        const right = deviceRound(if (w % 2 == 0) "cpu:0" else "cpu:1", options) catch {
            Counts.add(&counts.third);
            continue;
        };
        Counts.add(if (right) &counts.first else &counts.second);
    }
}

fn deviceRound(device: [:0]const u8, options: hexapla.Options) !bool {
    const context: hexapla.Context = try .init(device, options, null);
    defer context.deinit();
    try std.Thread.yield();
    const tensor = try Tensor.init(context, &.{16}, null);
    defer tensor.deinit();
    try std.Thread.yield();
    var buffer: [32]u8 = undefined;
    return std.mem.eql(u8, device, try tensor.device(&buffer, null));
}

pub fn errorText(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "workers", "calls" });
    const workers: usize = @intCast(try fields.integer("workers", 1, 4096));
    const calls: u64 = @intCast(try fields.integer("calls", 1, 1 << 32));
    var counts: Counts = .{};
    {
        const context = try probe.context();
        defer context.deinit();
        var working: Group = .{ .allocator = probe.call.allocator, .fault = probe.call.fault };
        defer working.join();
        for (0..workers) |g| try working.spawn(textWorker, .{ g, calls, context, &counts });
    }
    probe.send(.{ .own = counts.first.raw, .foreign = counts.second.raw, .empty = counts.third.raw });
}

fn textWorker(g: usize, calls: u64, context: hexapla.Context, counts: *Counts) void {
    for (0..calls) |i| {
        var diagnostics: hexapla.Diagnostics = .{};
        const number: u64 = 1000 * g + i + 1;
        const size = -@as(i64, @intCast(number));
        if (Tensor.init(context, &.{size}, &diagnostics)) |tensor| tensor.deinit() else |_| {}
        std.Thread.yield() catch {};
        const text = diagnostics.message();
        Counts.add(if (text.len == 0) &counts.third else if (contains(text, number)) &counts.first else &counts.second);
    }
}

/// Whether a text contains a number, not as part of a longer one.
fn contains(text: []const u8, number: u64) bool {
    var start: usize = 0;
    while (start < text.len) {
        const end = std.mem.findNonePos(u8, text, start, "0123456789") orelse text.len;
        if (std.fmt.parseUnsigned(u64, text[start..end], 10)) |found| {
            if (found == number) return true;
        } else |_| {}
        start = end + 1;
    }
    return false;
}

/// What two runs must agree in.
const Fingerprint = struct {
    bits: std.ArrayList(u64) = .empty,
    adapter: hexapla.Digest = undefined,

    fn equals(a: Fingerprint, b: Fingerprint) bool {
        return std.mem.eql(u64, a.bits.items, b.bits.items) and std.mem.eql(u8, &a.adapter, &b.adapter);
    }
};

/// One of the runs: memory and fault of its own, so that two may go on at once.
const Run = struct {
    probe: *const Probe,
    order: *const train.Order,
    examples: []const render.Example,
    updates: u64,
    arena: std.heap.ArenaAllocator,
    fault: Fault = .{},
    seen: Fingerprint = .{},
    result: Error!void = {},

    fn init(probe: *const Probe, order: *const train.Order, examples: []const render.Example, updates: u64) Run {
        const arena: std.heap.ArenaAllocator = .init(probe.call.allocator);
        return .{ .probe = probe, .order = order, .examples = examples, .updates = updates, .arena = arena };
    }

    fn play(self: *Run) void {
        self.result = self.updatesOf();
    }

    fn updatesOf(self: *Run) Error!void {
        const call = self.probe.call;
        const arena = self.arena.allocator();
        const context = try self.probe.chosen.open(&self.fault);
        defer context.deinit();
        const model = try Model.load(call.allocator, arena, call.io, self.order.model, context, &self.fault);
        defer model.deinit();
        var learner = try self.order.learner(.{
            .allocator = call.allocator,
            .io = call.io,
            .fault = &self.fault,
            .spec = &self.order.spec,
            .context = context,
            .model = &model,
            .examples = self.examples,
        }, arena);
        defer learner.deinit();
        for (1..self.updates + 1) |k| {
            const step = try learner.update(k);
            try self.seen.bits.append(arena, @bitCast(step.loss));
            try self.seen.bits.append(arena, @bitCast(step.gradient_norm));
        }
        self.seen.adapter = try learner.adapter.digest(&self.fault);
    }

    /// The run's failure, as the request's own.
    fn check(self: *Run) Error!void {
        self.probe.call.fault.* = self.fault;
        return self.result;
    }
};

pub fn twoContexts(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "train", "updates" });
    const order = try probe.order(fields);
    const updates: u64 = @intCast(try fields.integer("updates", 1, @intCast(order.spec.updates)));
    const call = probe.call;
    const data: train.Data = try .read(call.allocator, call.arena, call.io, &order, call.fault);
    var runs: [3]Run = undefined;
    for (&runs) |*run| run.* = .init(probe, &order, data.train.examples, updates);
    defer for (&runs) |*run| run.arena.deinit();
    runs[0].play();
    try runs[0].check();
    {
        var both: Group = .{ .allocator = call.allocator, .fault = call.fault };
        defer both.join();
        for (runs[1..]) |*run| try both.spawn(Run.play, .{run});
    }
    for (runs[1..]) |*run| try run.check();
    const equal = runs[0].seen.equals(runs[1].seen) and runs[0].seen.equals(runs[2].seen);
    probe.send(.{ .equal = @intFromBool(equal) });
}

test "a number counts only when it stands alone" {
    try std.testing.expect(contains("size -1001 is below 0", 1001));
    try std.testing.expect(!contains("size -11001 is below 0", 1001));
    try std.testing.expect(!contains("", 1));
}
