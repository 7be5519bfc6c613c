//! One update: forward, backward, norm, clip, AdamW. Separate because this is what every schedule, probe and
//! resume runs alike. It sends no event and saves nothing.

const std = @import("std");
const hexapla = @import("hexapla");
const Adapter = @import("adapter.zig").Adapter;
const Training = @import("adapter.zig").Training;
const BatchDigest = @import("batch.zig").Digest;
const MicroBatch = @import("batch.zig").MicroBatch;
const Example = @import("render.zig").Example;
const Error = @import("fault.zig").Error;
const Fault = @import("fault.zig").Fault;
const Forward = @import("forward.zig").Forward;
const Model = @import("model.zig").Model;
const Plan = @import("order.zig").Plan;
const Scope = @import("forward.zig").Scope;
const Spec = @import("spec.zig").Spec;
const Tape = hexapla.Tape;
const Tensor = hexapla.Tensor;

/// What an update did, as its event says it.
pub const Step = struct {
    epoch: u64,
    records: usize,
    tokens: usize,
    labels: usize,
    loss: f64,
    gradient_norm: f64,
    clipped: bool,
    learning_rate: f64,
    batch_digest: [16]u8,
    milliseconds: f64,
};

/// Everything that one run of updates owns, the model apart.
pub const Learner = struct {
    allocator: std.mem.Allocator,
    io: std.Io,
    fault: *Fault,
    spec: *const Spec,
    context: hexapla.Context,
    model: *const Model,
    examples: []const Example,
    adapter: Adapter,
    training: Training,
    tape: Tape,
    plan: Plan,
    scope: Scope,
    /// Host arrays of the current micro-batch.
    scratch: std.heap.ArenaAllocator,

    pub const Options = struct {
        allocator: std.mem.Allocator,
        io: std.Io,
        fault: *Fault,
        spec: *const Spec,
        context: hexapla.Context,
        model: *const Model,
        examples: []const Example,
        leak: bool = false,
    };

    /// Take over adapter and training, also when this fails.
    pub fn init(options: Options, adapter: Adapter, training: Training) Error!Learner {
        errdefer adapter.deinit();
        errdefer training.deinit();
        const plan: Plan = try .init(options.allocator, options.examples.len, options.spec.seed, options.spec.batch);
        errdefer plan.deinit(options.allocator);
        const tape = try Tape.init(options.context, options.fault.d());
        errdefer tape.deinit();
        for (adapter.tensors, training.gradients) |tensor, gradient| try tape.watch(tensor, gradient, options.fault.d());
        return .{
            .allocator = options.allocator,
            .io = options.io,
            .fault = options.fault,
            .spec = options.spec,
            .context = options.context,
            .model = options.model,
            .examples = options.examples,
            .adapter = adapter,
            .training = training,
            .tape = tape,
            .plan = plan,
            .scope = .{ .allocator = options.allocator, .leak = options.leak },
            .scratch = .init(options.allocator),
        };
    }

    pub fn deinit(self: *Learner) void {
        self.scratch.deinit();
        self.scope.deinit();
        self.plan.deinit(self.allocator);
        self.tape.deinit();
        self.training.deinit();
        self.adapter.deinit();
    }

    /// Update k, from 1. A loss or norm that is not finite is a `non_finite` failure and leaves the
    /// parameters untouched.
    pub fn update(self: *Learner, k: u64) Error!Step {
        const d = self.fault.d();
        const begun = std.Io.Timestamp.now(self.io, .awake);
        self.fault.at("update {d}", .{k});
        try self.context.mark(k, d);
        const taken = self.plan.update(k);
        const batch = try self.collect(taken.records);
        defer self.allocator.free(batch);
        var step: Step = .{
            .epoch = taken.epoch,
            .records = batch.len,
            .tokens = 0,
            .labels = 0,
            .loss = 0,
            .gradient_norm = 0,
            .clipped = false,
            .learning_rate = self.spec.learningRate(k),
            .batch_digest = undefined,
            .milliseconds = 0,
        };
        var digest: BatchDigest = .{};
        for (batch) |example| {
            step.tokens += example.ids.len;
            step.labels += example.flagged;
            digest.add(example);
        }
        step.batch_digest = digest.hex();
        step.loss = try self.accumulate(batch, step.labels);
        try self.apply(k, &step);
        const lasted = begun.durationTo(.now(self.io, .awake));
        step.milliseconds = @as(f64, @floatFromInt(lasted.nanoseconds)) / 1e6;
        return step;
    }

    fn collect(self: *Learner, records: []const u32) Error![]Example {
        const batch = try self.allocator.alloc(Example, records.len);
        for (batch, records) |*example, number| example.* = self.examples[number];
        return batch;
    }

    /// Gradients of the whole update; its loss.
    fn accumulate(self: *Learner, batch: []const Example, labels: usize) Error!f64 {
        const d = self.fault.d();
        errdefer self.tape.reset(d) catch {};
        for (self.training.gradients) |gradient| try gradient.fill(0, d);
        const count: f64 = @floatFromInt(labels);
        const weight: f32 = @floatCast(1 / count);
        var total: f64 = 0;
        var start: usize = 0;
        while (start < batch.len) : (start += self.spec.micro_batch) {
            const micro = batch[start..@min(start + self.spec.micro_batch, batch.len)];
            total = try self.microBatch(micro, weight, total);
        }
        return total / count;
    }

    /// One micro-batch forward and back; the running sum of the records' NLLs with its own added.
    fn microBatch(self: *Learner, examples: []const Example, weight: f32, total: f64) Error!f64 {
        const d = self.fault.d();
        defer self.scope.end();
        const nll = try self.forward(examples);
        const micro_labels = labelsOf(examples);
        const weights = try self.scope.own(try Tensor.init(self.context, &.{@intCast(micro_labels)}, d));
        try weights.fill(weight, d);
        const values = try self.scratch.allocator().alloc(f32, micro_labels);
        try nll.read(values, d);
        try self.tape.backward(nll, weights, d);
        var sum = total;
        var next: usize = 0;
        for (examples) |example| {
            sum += recordNll(values[next..][0..example.flagged]);
            next += example.flagged;
        }
        return sum;
    }

    /// The recorded forward pass of a micro-batch: nll (labels), owned by the scope.
    pub fn forward(self: *Learner, examples: []const Example) Error!Tensor {
        _ = self.scratch.reset(.retain_capacity);
        const pass: Forward = .{
            .model = self.model,
            .adapter = &self.adapter,
            .tape = self.tape,
            .micro = try .init(self.scratch.allocator(), examples),
            .scope = &self.scope,
            .fault = self.fault,
        };
        return pass.run();
    }

    /// Norm, clip, AdamW.
    fn apply(self: *Learner, k: u64, step: *Step) Error!void {
        const d = self.fault.d();
        const gradients = self.training.gradients;
        step.gradient_norm = try hexapla.optimizer.gradientNorm(gradients, d);
        if (!std.math.isFinite(step.loss) or !std.math.isFinite(step.gradient_norm)) {
            var where: [40]u8 = undefined;
            const place = std.fmt.bufPrint(&where, "update {d}", .{k}) catch unreachable;
            return self.fault.fail(
                "non_finite",
                place,
                "update {d}: loss {d}, gradient norm {d}",
                .{ k, step.loss, step.gradient_norm },
            );
        }
        step.clipped = try hexapla.optimizer.gradientClip(gradients, step.gradient_norm, self.spec.clip_norm, d);
        try hexapla.optimizer.adamwStep(.{
            .step = k,
            .learning_rate = step.learning_rate,
            .beta1 = self.spec.beta1,
            .beta2 = self.spec.beta2,
            .epsilon = self.spec.epsilon,
            .weight_decay = self.spec.weight_decay,
        }, self.adapter.tensors, gradients, self.training.exp_avg, self.training.exp_avg_sq, d);
    }
};

/// The f64 running sum of a record's labels, in order.
pub fn recordNll(values: []const f32) f64 {
    var sum: f64 = 0;
    for (values) |value| sum += value;
    return sum;
}

/// All labels of some records.
pub fn labelsOf(examples: []const Example) usize {
    var count: usize = 0;
    for (examples) |example| count += example.flagged;
    return count;
}
