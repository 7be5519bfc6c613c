//! Scenarios of the ownership axis: owners, copies, accessors, and what a released id answers.

const std = @import("std");
const hexapla = @import("hexapla");
const shuffle = @import("order.zig").shuffle;
const statusOf = @import("probe.zig").statusOf;
const Error = @import("fault.zig").Error;
const Probe = @import("probe.zig").Probe;
const Statuses = @import("probe.zig").Statuses;
const Tape = hexapla.Tape;
const Tensor = hexapla.Tensor;
const ops = hexapla.ops;

const Four = [4]f32;

/// "1 2 3 4".
fn text(arena: std.mem.Allocator, values: Four) Error![]const u8 {
    return std.fmt.allocPrint(arena, "{d} {d} {d} {d}", .{ values[0], values[1], values[2], values[3] });
}

/// An object that owns a tensor and hands out owners.
const Parent = struct {
    tensor: Tensor,

    fn get(self: Parent, d: *hexapla.Diagnostics) Error!Tensor {
        return self.tensor.retain(d);
    }
};

/// Values as read: the first that differ from the expected stay.
const Watch = struct {
    expected: Four,
    seen: Four,

    fn init(expected: Four) Watch {
        return .{ .expected = expected, .seen = expected };
    }

    fn read(self: *Watch, tensor: Tensor, d: *hexapla.Diagnostics) Error!void {
        var values: Four = undefined;
        try tensor.read(&values, d);
        if (std.mem.eql(f32, &self.seen, &self.expected)) self.seen = values;
    }
};

/// Owners of one repeat; what a failure leaves behind is released with the keeper.
const Keeper = struct {
    statuses: *Statuses,
    d: *hexapla.Diagnostics,
    tensors: [4]?Tensor = @splat(null),

    fn own(self: *Keeper, slot: usize, tensor: Tensor) Tensor {
        self.tensors[slot] = tensor;
        return tensor;
    }

    fn release(self: *Keeper, slot: usize) void {
        self.statuses.add(self.tensors[slot].?.release(self.d), self.d);
        self.tensors[slot] = null;
    }

    fn deinit(self: *Keeper) void {
        for (self.tensors) |slot| if (slot) |tensor| tensor.deinit();
    }
};

pub fn accessors(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{"repeats"});
    const repeats: u64 = @intCast(try fields.integer("repeats", 1, 1 << 32));
    const d = probe.call.fault.d();
    var statuses: Statuses = .{};
    var watch: Watch = .init(.{ 1, 2, 3, 4 });
    {
        const context = try probe.context();
        defer context.deinit();
        for (0..repeats) |_| {
            var keeper: Keeper = .{ .statuses = &statuses, .d = d };
            defer keeper.deinit();
            const parent: Parent = .{ .tensor = keeper.own(0, try .fromSlice(context, &.{4}, &.{ 1, 2, 3, 4 }, d)) };
            _ = keeper.own(1, try parent.get(d));
            _ = keeper.own(2, try parent.get(d));
            keeper.release(1);
            keeper.release(2);
            try watch.read(parent.tensor, d);
            _ = keeper.own(3, try ops.reshape(.none, parent.tensor, &.{ 2, 2 }, d));
            keeper.release(3);
            try watch.read(parent.tensor, d);
            keeper.release(0);
        }
    }
    const arena = probe.call.arena;
    probe.send(.{ .value = try text(arena, watch.seen), .statuses = try statuses.text(arena) });
}

pub fn copies(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{"repeats"});
    const repeats: u64 = @intCast(try fields.integer("repeats", 1, 1 << 32));
    const d = probe.call.fault.d();
    var statuses: Statuses = .{};
    var watch: Watch = .init(.{ 2, 3, 4, 5 });
    var wrong: ?f32 = null;
    {
        const context = try probe.context();
        defer context.deinit();
        for (0..repeats) |_| {
            var keeper: Keeper = .{ .statuses = &statuses, .d = d };
            defer keeper.deinit();
            const a = keeper.own(0, try .fromSlice(context, &.{4}, &.{ 1, 2, 3, 4 }, d));
            const c = keeper.own(1, try a.retain(d));
            const b = keeper.own(2, try a.retain(d));
            keeper.release(0);
            const sum = keeper.own(3, try ops.reduceSum(.none, b, 0, d));
            var value: [1]f32 = undefined;
            try sum.read(&value, d);
            keeper.release(3);
            if (value[0] != 10 and wrong == null) wrong = value[0];
            try b.addInPlace(1, d);
            try watch.read(c, d);
            keeper.release(2);
            keeper.release(1);
        }
    }
    const arena = probe.call.arena;
    const value = if (wrong) |sum| try std.fmt.allocPrint(arena, "sum {d}", .{sum}) else try text(arena, watch.seen);
    probe.send(.{ .value = value, .statuses = try statuses.text(arena) });
}

pub fn dropOrders(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "seed", "orders" });
    const seed: u64 = @intCast(try fields.integer("seed", 0, (1 << 31) - 1));
    const orders: u64 = @intCast(try fields.integer("orders", 1, 1 << 32));
    var failed: u64 = 0;
    for (0..orders) |i| {
        var order: [5]u32 = undefined;
        shuffle(&order, seed, i);
        if (!try dropOrder(probe, &order)) failed += 1;
    }
    probe.send(.{ .orders = orders, .failed = failed });
}

const Five = struct {
    context: hexapla.Context,
    tensor: Tensor,
    second: Tensor,
    tape: Tape,
    view: Tensor,

    fn init(probe: *Probe) Error!Five {
        const d = probe.call.fault.d();
        const context = try probe.context();
        errdefer context.deinit();
        const tensor = try Tensor.init(context, &.{4}, d);
        errdefer tensor.deinit();
        const second = try tensor.retain(d);
        errdefer second.deinit();
        const tape = try Tape.init(context, d);
        errdefer tape.deinit();
        try tape.watch(tensor, .none, d);
        const view = try ops.reshape(tape, tensor, &.{ 2, 2 }, d);
        return .{ .context = context, .tensor = tensor, .second = second, .tape = tape, .view = view };
    }
};

/// Whether five things released in an order leave nothing and fail nowhere.
fn dropOrder(probe: *Probe, order: *const [5]u32) Error!bool {
    const d = probe.call.fault.d();
    const before = try hexapla.processMemory(d);
    const five: Five = try .init(probe);
    var ok = true;
    for (order) |which| {
        const result = switch (which) {
            0 => five.context.release(d),
            1 => five.tensor.release(d),
            2 => five.second.release(d),
            3 => five.tape.release(d),
            else => five.view.release(d),
        };
        if (result) |_| {} else |_| ok = false;
    }
    const after = try hexapla.processMemory(d);
    return ok and before.live_handles == after.live_handles and before.live_bytes == after.live_bytes;
}

/// Make a tensor of one and let `play` do with it what it likes; the status of that.
fn one(probe: *Probe, play: *const fn (Tensor, *hexapla.Diagnostics) hexapla.Error!void) Error!void {
    _ = try probe.fields(&.{});
    const d = probe.call.fault.d();
    const status = blk: {
        const context = try probe.context();
        defer context.deinit();
        const tensor = try Tensor.init(context, &.{1}, d);
        break :blk statusOf(play(tensor, d), d);
    };
    probe.send(.{ .status = status.name() });
}

pub fn doubleRelease(probe: *Probe) Error!void {
    return one(probe, releaseTwice);
}

fn releaseTwice(tensor: Tensor, d: *hexapla.Diagnostics) hexapla.Error!void {
    try tensor.release(d);
    return tensor.release(d);
}

pub fn useAfterRelease(probe: *Probe) Error!void {
    return one(probe, releaseAndRead);
}

fn releaseAndRead(tensor: Tensor, d: *hexapla.Diagnostics) hexapla.Error!void {
    try tensor.release(d);
    var value: [1]f32 = undefined;
    return tensor.read(&value, d);
}

pub fn releaseElsewhere(probe: *Probe) Error!void {
    return one(probe, releaseOnThread);
}

fn releaseOnThread(tensor: Tensor, d: *hexapla.Diagnostics) hexapla.Error!void {
    var result: hexapla.Error!void = {};
    // Without a thread there is nothing to see; the machine is out of everything.
    const thread = std.Thread.spawn(.{}, releaseInto, .{ tensor, d, &result }) catch @panic("no thread can be started");
    thread.join();
    return result;
}

fn releaseInto(tensor: Tensor, d: *hexapla.Diagnostics, result: *hexapla.Error!void) void {
    result.* = tensor.release(d);
}

pub fn closeRace(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{"rounds"});
    const rounds: u64 = @intCast(try fields.integer("rounds", 1, 1 << 32));
    const d = probe.call.fault.d();
    var statuses: Statuses = .{};
    var wrong: u64 = 0;
    {
        const context = try probe.context();
        defer context.deinit();
        for (0..rounds) |_| {
            const tensor = try Tensor.init(context, &.{1024}, d);
            tensor.fill(1, d) catch |err| {
                tensor.deinit();
                return err;
            };
            var values: [1024]f32 = undefined;
            const result = try raced(probe, tensor, &values);
            statuses.add(result, d);
            const fine = if (result) |_| std.mem.allEqual(f32, &values, 1) else |err| err == error.StaleHandle;
            if (!fine) wrong += 1;
        }
    }
    probe.send(.{ .rounds = rounds, .wrong = wrong, .statuses = try statuses.text(probe.call.arena) });
}

/// Read a tensor while another thread closes it.
fn raced(probe: *Probe, tensor: Tensor, values: *[1024]f32) Error!hexapla.Error!void {
    const fault = probe.call.fault;
    var start: Start = .{};
    const thread = std.Thread.spawn(.{}, closeAtStart, .{ tensor, &start }) catch |err| {
        tensor.deinit();
        return fault.fail("internal", "thread", "cannot start a thread: {t}", .{err});
    };
    defer thread.join();
    start.line();
    return tensor.read(values, fault.d());
}

fn closeAtStart(tensor: Tensor, start: *Start) void {
    start.line();
    tensor.deinit();
}

/// Lets two threads go at the same moment.
const Start = struct {
    there: std.atomic.Value(u32) = .init(0),

    fn line(self: *Start) void {
        _ = self.there.fetchAdd(1, .acq_rel);
        while (self.there.load(.acquire) < 2) std.atomic.spinLoopHint();
    }
};
