//! Scenarios of the memory axis: what stays on the device after tensors were lost, errors caught and
//! allocations refused. Live bytes are read from core, never counted here.

const std = @import("std");
const hexapla = @import("hexapla");
const larger = @import("probe.zig").larger;
const render = @import("render.zig");
const train = @import("train.zig");
const Error = @import("fault.zig").Error;
const Fields = @import("request.zig").Fields;
const Learner = @import("learner.zig").Learner;
const Model = @import("model.zig").Model;
const Probe = @import("probe.zig").Probe;
const Tensor = hexapla.Tensor;

const not_available = "not available";

/// A 0 or 1, or a boolean.
fn flag(fields: Fields, key: []const u8) Error!bool {
    return if (fields.raw(key) == .boolean) fields.boolean(key) else try fields.integer(key, 0, 1) == 1;
}

pub fn dropInLoop(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "bytes", "turns", "close" });
    const elements = @divTrunc(try fields.integer("bytes", 4, (1 << 53) - 1), 4);
    const turns: u64 = @intCast(try fields.integer("turns", 1, 1 << 32));
    const close = try flag(fields, "close");
    var done: u64 = 0;
    var failed: u64 = 0;
    const account = blk: {
        const context = try probe.context();
        defer context.deinit();
        // Zig has nothing that would find a lost id: it stays aside until the figures are read.
        var aside: std.ArrayList(Tensor) = .empty;
        defer aside.deinit(probe.call.allocator);
        defer for (aside.items) |tensor| tensor.deinit();
        while (done < turns) {
            try aside.ensureUnusedCapacity(probe.call.allocator, 1);
            const tensor = Tensor.init(context, &.{elements}, probe.call.fault.d()) catch {
                failed = done + 1;
                break;
            };
            done += 1;
            if (close) tensor.deinit() else aside.appendAssumeCapacity(tensor);
        }
        break :blk try context.memory(probe.call.fault.d());
    };
    probe.send(.{
        .turns = done,
        .failed_turn = failed,
        .pressure_calls = account.pressure_calls,
        .collections = not_available,
        .collector_ms = not_available,
    });
}

/// A context, a model and records, for scenarios that train.
const Bench = struct {
    probe: *Probe,
    order: train.Order,
    context: hexapla.Context,
    model: Model,
    examples: []const render.Example,

    fn init(probe: *Probe, fields: Fields) Error!Bench {
        const call = probe.call;
        const order = try probe.order(fields);
        const data: train.Data = try .read(call.allocator, call.arena, call.io, &order, call.fault);
        const context = try probe.context();
        errdefer context.deinit();
        const model = try Model.load(call.allocator, call.arena, call.io, order.model, context, call.fault);
        return .{ .probe = probe, .order = order, .context = context, .model = model, .examples = data.train.examples };
    }

    fn deinit(self: *const Bench) void {
        self.model.deinit();
        self.context.deinit();
    }

    /// Adapter, gradients and moments of zeros.
    fn learner(self: *const Bench) Error!Learner {
        const call = self.probe.call;
        return self.order.learner(.{
            .allocator = call.allocator,
            .io = call.io,
            .fault = call.fault,
            .spec = &self.order.spec,
            .context = self.context,
            .model = &self.model,
            .examples = self.examples,
        }, call.arena);
    }

    fn live(self: *const Bench) Error!i64 {
        return (try self.context.memory(self.probe.call.fault.d())).live_bytes;
    }
};

pub fn caughtErrors(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "train", "turns" });
    const turns: u64 = @intCast(try fields.integer("turns", 1, 1 << 32));
    var failed: u64 = 0;
    var difference: i64 = 0;
    {
        const bench = try Bench.init(probe, fields);
        defer bench.deinit();
        var learner = try bench.learner();
        defer learner.deinit();
        for (1..turns + 1) |turn| {
            const before = try bench.live();
            const caught = try caughtTurn(&bench, &learner);
            if (!caught and failed == 0) failed = turn;
            difference = larger(difference, try bench.live() - before);
        }
    }
    probe.send(.{ .turns = turns, .failed_turn = failed, .difference_bytes = difference });
}

/// Whether backward failed, as it must.
fn caughtTurn(bench: *const Bench, learner: *Learner) Error!bool {
    const d = bench.probe.call.fault.d();
    defer learner.scope.end();
    defer learner.tape.reset(d) catch unreachable;
    const records = learner.plan.update(1).records;
    const count = @min(records.len, bench.order.spec.micro_batch);
    const examples = try bench.probe.call.allocator.alloc(render.Example, count);
    defer bench.probe.call.allocator.free(examples);
    for (examples, records[0..count]) |*example, number| example.* = bench.examples[number];
    const nll = try learner.forward(examples);
    try bench.context.failAllocation(1, false, d);
    const failed = if (learner.tape.backward(nll, .none, d)) |_| false else |_| true;
    try bench.context.failAllocation(0, false, d);
    return failed;
}

pub fn scope(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "train", "turns" });
    const turns: u64 = @intCast(try fields.integer("turns", 1, 1 << 32));
    var failed: u64 = 0;
    var difference: i64 = 0;
    {
        const bench = try Bench.init(probe, fields);
        defer bench.deinit();
        for (1..turns + 1) |turn| {
            const before = try bench.live();
            oneUpdate(&bench) catch {
                if (failed == 0) failed = turn;
            };
            difference = larger(difference, try bench.live() - before);
        }
    }
    probe.send(.{ .turns = turns, .failed_turn = failed, .difference_bytes = difference });
}

fn oneUpdate(bench: *const Bench) Error!void {
    var learner = try bench.learner();
    defer learner.deinit();
    _ = try learner.update(1);
}

pub fn failAllocation(probe: *Probe) Error!void {
    const fields = try probe.fields(&.{ "train", "nth", "persistent" });
    const nth: u64 = @intCast(try fields.integer("nth", 1, (1 << 53) - 1));
    const persistent = try flag(fields, "persistent");
    const d = probe.call.fault.d();
    var status: hexapla.Status = .ok;
    var difference: i64 = 0;
    const account = blk: {
        const bench = try Bench.init(probe, fields);
        defer bench.deinit();
        var learner = try bench.learner();
        defer learner.deinit();
        const before = try bench.live();
        try bench.context.failAllocation(nth, persistent, d);
        if (learner.update(1)) |_| {} else |err| switch (err) {
            error.Failed, error.OutOfMemory => return err,
            else => status = d.status(),
        }
        try bench.context.failAllocation(0, false, d);
        difference = try bench.live() - before;
        break :blk try bench.context.memory(d);
    };
    probe.send(.{ .fired = account.injected_failures, .status = status.name(), .live_difference = difference });
}
