//! The `train` request: the step loop, in the order of the specification. Separate because here alone a run
//! becomes events.

const std = @import("std");
const hexapla = @import("hexapla");
const adapter_files = @import("adapter.zig");
const checkpoint = @import("checkpoint.zig");
const evaluate = @import("evaluate.zig");
const events = @import("events.zig");
const json = @import("json.zig");
const render = @import("render.zig");
const Adapter = adapter_files.Adapter;
const Call = @import("call.zig").Call;
const ContextRequest = @import("request.zig").ContextRequest;
const Error = @import("fault.zig").Error;
const Fault = @import("fault.zig").Fault;
const Fields = @import("request.zig").Fields;
const Learner = @import("learner.zig").Learner;
const Migration = @import("migrate.zig").Migration;
const Model = @import("model.zig").Model;
const Spec = @import("spec.zig").Spec;
const Step = @import("learner.zig").Step;
const Training = adapter_files.Training;

/// The keys of a train request, its context apart; probes carry them too.
pub const keys = [_][]const u8{
    "spec",   "spec_digest", "model",      "tokenizer", "train",   "heldout", "adapter",
    "output", "resume_from", "stop_after", "schedule",  "release",
};

/// What is to be trained, as requested.
pub const Order = struct {
    spec: Spec,
    spec_digest: [:0]const u8,
    model: [:0]const u8,
    tokenizer: [:0]const u8,
    train: [:0]const u8,
    heldout: [:0]const u8,
    adapter: [:0]const u8,
    output: [:0]const u8,
    resume_from: ?[:0]const u8,
    stop_after: ?u64,
    migrating: bool,
    leak: bool,

    pub fn parse(fields: Fields) Error!Order {
        const stop_after = fields.raw("stop_after");
        return .{
            .spec = try Spec.parse(fields.raw("spec"), fields.fault, fields.arena),
            .spec_digest = try fields.text("spec_digest"),
            .model = try fields.path("model"),
            .tokenizer = try fields.path("tokenizer"),
            .train = try fields.path("train"),
            .heldout = try fields.path("heldout"),
            .adapter = try fields.path("adapter"),
            .output = try fields.path("output"),
            .resume_from = try fields.optionalPath("resume_from"),
            .stop_after = if (stop_after == .null) null else @intCast(try fields.integer("stop_after", 0, std.math.maxInt(i64))),
            .migrating = try either(fields, "schedule", "pinned", "migrating"),
            .leak = try either(fields, "release", "explicit", "collector"),
        };
    }

    /// Whether `key` holds the second word.
    fn either(fields: Fields, key: []const u8, first: []const u8, second: []const u8) Error!bool {
        const word = try fields.string(key);
        if (std.mem.eql(u8, word, second)) return true;
        if (std.mem.eql(u8, word, first)) return false;
        return fields.fault.fail("request", key, "{s} is {s}, must be {s} or {s}", .{ key, word, first, second });
    }

    /// Adapter and moments at the start: the initial ones, or those of the checkpoint to resume from.
    pub fn learner(self: *const Order, options: Learner.Options, arena: std.mem.Allocator) Error!Learner {
        const fault = options.fault;
        const config = options.model.config;
        const folder = self.resume_from orelse self.adapter;
        const adapter = try Adapter.load(options.allocator, arena, folder, config, self.spec, options.context, fault);
        const training = self.startTraining(options, &adapter, arena) catch |err| {
            adapter.deinit();
            return err;
        };
        return Learner.init(options, adapter, training);
    }

    fn startTraining(
        self: *const Order,
        options: Learner.Options,
        adapter: *const Adapter,
        arena: std.mem.Allocator,
    ) Error!Training {
        const allocator = options.allocator;
        const fault = options.fault;
        const folder = self.resume_from orelse return Training.init(allocator, adapter, options.context, fault);
        const moments = try checkpoint.readMoments(
            allocator,
            arena,
            folder,
            options.model.config,
            self.spec,
            options.context,
            fault,
        );
        errdefer adapter_files.free(allocator, moments.exp_avg);
        errdefer adapter_files.free(allocator, moments.exp_avg_sq);
        return Training.withMoments(allocator, adapter, moments.exp_avg, moments.exp_avg_sq, options.context, fault);
    }
};

/// Both files, rendered.
pub const Data = struct {
    train: render.Dataset,
    heldout: render.Dataset,

    /// Render both into memory of `keep`.
    pub fn read(
        allocator: std.mem.Allocator,
        keep: std.mem.Allocator,
        io: std.Io,
        order: *const Order,
        fault: *Fault,
    ) Error!Data {
        var renderer = try render.Renderer.open(allocator, order.tokenizer, order.spec.template, order.spec.length, fault);
        defer renderer.close();
        return .{
            .train = try render.dataset(&renderer, io, order.train, keep),
            .heldout = try render.dataset(&renderer, io, order.heldout, keep),
        };
    }
};

/// How a run ended.
const End = struct { step: u64, stopped: bool, peak: i64 };

pub fn request(call: *Call) Error!void {
    const fields = try call.fields(&(.{"context"} ++ keys));
    const chosen = try call.context(fields);
    const order = try Order.parse(fields);
    const adapter_config = try adapter_files.readConfig(call.arena, call.io, order.adapter, order.spec, call.fault);
    const start = try startOf(&order, call);
    const due: checkpoint.Due = .{
        .start = start,
        .every = order.spec.save_every,
        .last = order.spec.updates,
        .stop_after = order.stop_after,
    };
    try checkpoint.prepare(call.arena, call.io, order.output, due, call.fault);
    const data: Data = try .read(call.allocator, call.arena, call.io, &order, call.fault);
    var rejected = data.train.rejected;
    rejected.add(data.heldout.rejected);
    call.events.send("data", .{
        .train = data.train.examples.len,
        .heldout = data.heldout.examples.len,
        .rejected = rejected,
        .markers = data.train.markers + data.heldout.markers,
    });
    const writer: checkpoint.Writer = .{
        .output = order.output,
        .adapter_config = adapter_config,
        .spec_digest = order.spec_digest,
    };
    const end = try play(call, &order, chosen, &data, due, writer);
    const process = try hexapla.processMemory(call.fault.d());
    call.events.send("done", .{
        .step = end.step,
        .stopped = end.stopped,
        .device_bytes_peak = end.peak,
        .handles_live = process.live_handles,
    });
}

/// The update to go on after: 0, or the checkpoint's.
fn startOf(order: *const Order, call: *Call) Error!u64 {
    const last = order.spec.updates;
    const start = if (order.resume_from) |folder|
        try checkpoint.savedUpdate(call.arena, folder, order.spec_digest, call.fault)
    else
        0;
    if (start >= last)
        return call.fault.fail(
            "request",
            "resume_from",
            "the checkpoint is of update {d}, the run ends with update {d}",
            .{ start, last },
        );
    if (order.stop_after) |stop| if (stop <= start or stop > last)
        return call.fault.fail("request", "stop_after", "stop_after is {d}, must be from {d} to {d}", .{ stop, start + 1, last });
    return start;
}

/// The run itself. Everything that it made is released when it returns, but for what `collector` leaks.
fn play(
    call: *Call,
    order: *const Order,
    chosen: ContextRequest,
    data: *const Data,
    due: checkpoint.Due,
    writer: checkpoint.Writer,
) Error!End {
    const spec = &order.spec;
    const context = try chosen.open(call.fault);
    defer context.deinit();
    const model = try Model.load(call.allocator, call.arena, call.io, order.model, context, call.fault);
    defer model.deinit();
    var learner = try order.learner(.{
        .allocator = call.allocator,
        .io = call.io,
        .fault = call.fault,
        .spec = spec,
        .context = context,
        .model = &model,
        .examples = data.train.examples,
        .leak = order.leak,
    }, call.arena);
    defer learner.deinit();
    var migration: Migration = .{ .allocator = call.allocator };
    defer migration.deinit();
    const subject: evaluate.Subject = .{
        .allocator = call.allocator,
        .fault = call.fault,
        .model = &model,
        .adapter = &learner.adapter,
        .examples = data.heldout.examples,
        .micro_batch = spec.micro_batch,
        .leak = order.leak,
    };
    if (order.resume_from == null) try evaluate.report(subject, 0, call.events);
    var k = due.start;
    const last = order.stop_after orelse spec.updates;
    while (k < last and !call.input.hasEnded()) {
        k += 1;
        const step = if (order.migrating) try migration.update(&learner, k) else try learner.update(k);
        report(call, k, step);
        if (k % spec.evaluate_every == 0 or k == spec.updates) try evaluate.report(subject, k, call.events);
        if (due.saves(k)) try writer.report(&learner, k, call.events);
    }
    const memory = try context.memory(call.fault.d());
    return .{ .step = k, .stopped = k < spec.updates, .peak = memory.peak_bytes };
}

fn report(call: *Call, k: u64, step: Step) void {
    call.events.send("step", .{
        .step = k,
        .epoch = step.epoch,
        .records = step.records,
        .tokens = step.tokens,
        .labels = step.labels,
        .loss = events.number(step.loss),
        .loss_bits = events.bits(step.loss),
        .gradient_norm = events.number(step.gradient_norm),
        .gradient_norm_bits = events.bits(step.gradient_norm),
        .clipped = step.clipped,
        .learning_rate = events.number(step.learning_rate),
        .learning_rate_bits = events.bits(step.learning_rate),
        .batch_digest = step.batch_digest,
        .milliseconds = events.number(step.milliseconds),
    });
}
