//! Held-out evaluation, in a run and as a request of its own. Separate because nothing here is recorded and
//! nothing changes.

const std = @import("std");
const hexapla = @import("hexapla");
const events = @import("events.zig");
const json = @import("json.zig");
const learner = @import("learner.zig");
const render = @import("render.zig");
const Adapter = @import("adapter.zig").Adapter;
const adapterConfig = @import("adapter.zig").readConfig;
const Call = @import("call.zig").Call;
const Error = @import("fault.zig").Error;
const Fault = @import("fault.zig").Fault;
const Forward = @import("forward.zig").Forward;
const MicroBatch = @import("batch.zig").MicroBatch;
const Model = @import("model.zig").Model;
const Scope = @import("forward.zig").Scope;
const Spec = @import("spec.zig").Spec;

/// What an evaluation reads.
pub const Subject = struct {
    allocator: std.mem.Allocator,
    fault: *Fault,
    model: *const Model,
    /// null: the base model alone.
    adapter: ?*const Adapter,
    examples: []const render.Example,
    micro_batch: usize,
    leak: bool = false,
};

pub const Evaluation = struct {
    total: f64,
    labels: usize,
    /// Memory of the subject's allocator.
    record_nll: []events.Number,

    pub fn loss(self: Evaluation) f64 {
        return self.total / @as(f64, @floatFromInt(self.labels));
    }
};

/// All records in order, in micro-batches.
pub fn evaluate(subject: Subject) Error!Evaluation {
    const d = subject.fault.d();
    var scratch: std.heap.ArenaAllocator = .init(subject.allocator);
    defer scratch.deinit();
    var scope: Scope = .{ .allocator = subject.allocator, .leak = subject.leak };
    defer scope.deinit();
    const record_nll = try subject.allocator.alloc(events.Number, subject.examples.len);
    errdefer subject.allocator.free(record_nll);
    var result: Evaluation = .{ .total = 0, .labels = 0, .record_nll = record_nll };
    var record: usize = 0;
    while (record < subject.examples.len) {
        const end = @min(record + subject.micro_batch, subject.examples.len);
        const examples = subject.examples[record..end];
        _ = scratch.reset(.retain_capacity);
        const micro: MicroBatch = try .init(scratch.allocator(), examples);
        const pass: Forward = .{
            .model = subject.model,
            .adapter = subject.adapter,
            .tape = .none,
            .micro = micro,
            .scope = &scope,
            .fault = subject.fault,
        };
        const nll = try pass.run();
        const values = try scratch.allocator().alloc(f32, micro.rows.len);
        try nll.read(values, d);
        scope.end();
        var next: usize = 0;
        for (examples) |example| {
            const sum = learner.recordNll(values[next..][0..example.flagged]);
            next += example.flagged;
            record_nll[record] = events.number(sum);
            record += 1;
            result.total += sum;
        }
        result.labels += micro.rows.len;
    }
    return result;
}

/// Evaluate and send the event. Afterwards a total that is not finite is a `non_finite` failure.
pub fn report(subject: Subject, step: u64, out: events.Events) Error!void {
    subject.fault.at("evaluation of update {d}", .{step});
    const result = try evaluate(subject);
    defer subject.allocator.free(result.record_nll);
    const digest: ?hexapla.Digest = if (subject.adapter) |adapter| try adapter.digest(subject.fault) else null;
    out.send("evaluation", .{
        .step = step,
        .adapter = subject.adapter != null,
        .loss = events.number(result.loss()),
        .loss_bits = events.bits(result.loss()),
        .total = events.number(result.total),
        .total_bits = events.bits(result.total),
        .labels = result.labels,
        .record_nll = result.record_nll,
        .adapter_digest = digest,
    });
    if (!std.math.isFinite(result.total)) {
        var where: [40]u8 = undefined;
        const place = std.fmt.bufPrint(&where, "update {d}", .{step}) catch unreachable;
        return subject.fault.fail("non_finite", place, "the evaluation of update {d} is {d}", .{ step, result.total });
    }
}

/// The `evaluate` request.
pub fn request(call: *Call) Error!void {
    const fields = try call.fields(&.{ "context", "spec", "model", "tokenizer", "heldout", "adapter" });
    const chosen = try call.context(fields);
    const spec = try Spec.parse(fields.raw("spec"), call.fault, call.arena);
    const folder = try fields.path("model");
    const tokenizer = try fields.path("tokenizer");
    const heldout = try fields.path("heldout");
    const adapter_folder = try fields.optionalPath("adapter");
    if (adapter_folder) |path| _ = try adapterConfig(call.arena, call.io, path, spec, call.fault);
    const data = blk: {
        var renderer = try render.Renderer.open(call.allocator, tokenizer, spec.template, spec.length, call.fault);
        defer renderer.close();
        break :blk try render.dataset(&renderer, call.io, heldout, call.arena);
    };
    {
        const context = try chosen.open(call.fault);
        defer context.deinit();
        const model = try Model.load(call.allocator, call.arena, call.io, folder, context, call.fault);
        defer model.deinit();
        const adapter: ?Adapter = if (adapter_folder) |path|
            try Adapter.load(call.allocator, call.arena, path, model.config, spec, context, call.fault)
        else
            null;
        defer if (adapter) |each| each.deinit();
        try report(.{
            .allocator = call.allocator,
            .fault = call.fault,
            .model = &model,
            .adapter = if (adapter) |*each| each else null,
            .examples = data.examples,
            .micro_batch = spec.micro_batch,
        }, 0, call.events);
    }
    call.events.send("done", .{});
}
