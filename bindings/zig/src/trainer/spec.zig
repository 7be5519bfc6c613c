//! The specification of one run, read strictly, and the learning rate that it gives each update. Separate
//! because it is the one place that knows the keys' ranges; there are no defaults.

const std = @import("std");
const json = @import("json.zig");
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;
const Fields = @import("request.zig").Fields;

/// The seven projections that can carry an adapter, in adapter order.
pub const Target = enum {
    q_proj,
    k_proj,
    v_proj,
    o_proj,
    gate_proj,
    up_proj,
    down_proj,

    /// The part of a layer that holds it.
    pub fn block(target: Target) []const u8 {
        return switch (target) {
            .q_proj, .k_proj, .v_proj, .o_proj => "self_attn",
            .gate_proj, .up_proj, .down_proj => "mlp",
        };
    }
};

pub const Template = enum { qwen3, chatml };
pub const Decay = enum { cosine, linear };

pub const Spec = struct {
    seed: u64,
    updates: u64,
    batch: usize,
    micro_batch: usize,
    length: usize,
    learning_rate: f64,
    warmup_updates: u64,
    decay: Decay,
    decay_floor: f64,
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    weight_decay: f64,
    clip_norm: f64,
    rank: i64,
    alpha: f64,
    targets: std.EnumSet(Target),
    evaluate_every: u64,
    save_every: u64,
    template: Template,

    const keys = [_][]const u8{
        "seed",  "updates",     "batch",   "micro_batch",    "length",     "learning_rate", "warmup_updates",
        "decay", "decay_floor", "beta1",   "beta2",          "epsilon",    "weight_decay",  "clip_norm",
        "rank",  "alpha",       "targets", "evaluate_every", "save_every", "template",      "precision",
    };

    pub fn parse(value: json.Value, fault: *Fault, arena: std.mem.Allocator) Error!Spec {
        const fields = try Fields.init(value, &keys, "spec", "spec", fault, arena);
        const most = (1 << 53) - 1;
        const updates = try fields.integer("updates", 1, most);
        const batch = try fields.integer("batch", 1, most);
        try word(fields, "precision", &.{"f32"});
        return .{
            .seed = @intCast(try fields.integer("seed", 0, (1 << 31) - 1)),
            .updates = @intCast(updates),
            .batch = @intCast(batch),
            .micro_batch = @intCast(try fields.integer("micro_batch", 1, batch)),
            .length = @intCast(try fields.integer("length", 2, most)),
            .learning_rate = try above0(fields, "learning_rate"),
            .warmup_updates = @intCast(try fields.integer("warmup_updates", 0, updates)),
            .decay = try choice(Decay, fields, "decay"),
            .decay_floor = try within(fields, "decay_floor", 0, 1, "from 0 to 1"),
            .beta1 = try within(fields, "beta1", 0, below1, "at least 0 and below 1"),
            .beta2 = try within(fields, "beta2", 0, below1, "at least 0 and below 1"),
            .epsilon = try above0(fields, "epsilon"),
            .weight_decay = try within(fields, "weight_decay", 0, std.math.floatMax(f64), "at least 0"),
            .clip_norm = try above0(fields, "clip_norm"),
            .rank = try fields.integer("rank", 1, most),
            .alpha = try above0(fields, "alpha"),
            .targets = try targetsOf(fields),
            .evaluate_every = @intCast(try fields.integer("evaluate_every", 1, most)),
            .save_every = @intCast(try fields.integer("save_every", 1, most)),
            .template = try choice(Template, fields, "template"),
        };
    }

    /// η(k), computed in f64, rounded to f32 once.
    pub fn learningRate(self: Spec, k: u64) f64 {
        const step: f64 = @floatFromInt(k);
        const warmup: f64 = @floatFromInt(self.warmup_updates);
        const total: f64 = @floatFromInt(self.updates);
        const floor = self.decay_floor;
        const factor = if (k <= self.warmup_updates) step / warmup else switch (self.decay) {
            .cosine => floor + (1 - floor) * (1 + @cos(std.math.pi * (step - warmup) / (total - warmup))) / 2,
            .linear => floor + (1 - floor) * (total - step) / (total - warmup),
        };
        return @as(f32, @floatCast(self.learning_rate * factor));
    }

    /// alpha / rank.
    pub fn scale(self: Spec) f64 {
        return self.alpha / @as(f64, @floatFromInt(self.rank));
    }
};

/// The largest f64 below 1.
const below1 = 1 - std.math.floatEps(f64) / 2;

fn within(fields: Fields, key: []const u8, least: f64, most: f64, must: []const u8) Error!f64 {
    const value = try fields.float(key);
    if (value < least or value > most) return fields.fault.fail("spec", key, "{s} is {d}, must be {s}", .{ key, value, must });
    return value;
}

fn above0(fields: Fields, key: []const u8) Error!f64 {
    return within(fields, key, std.math.floatTrueMin(f64), std.math.floatMax(f64), "above 0");
}

fn word(fields: Fields, key: []const u8, allowed: []const []const u8) Error!void {
    const value = try fields.string(key);
    for (allowed) |each| if (std.mem.eql(u8, each, value)) return;
    return fields.fault.fail("spec", key, "{s} is {s}, must be {s}", .{ key, value, allowed[0] });
}

fn choice(comptime T: type, fields: Fields, key: []const u8) Error!T {
    const value = try fields.string(key);
    return std.meta.stringToEnum(T, value) orelse fields.fault.fail(
        "spec",
        key,
        "{s} is {s}, which is not known",
        .{ key, value },
    );
}

fn targetsOf(fields: Fields) Error!std.EnumSet(Target) {
    const value = fields.raw("targets");
    if (value != .array or value.array.len == 0) return fields.bad("targets", "a list of projections that is not empty");
    var targets: std.EnumSet(Target) = .empty;
    for (value.array) |item| {
        if (item != .string) return fields.bad("targets", "a list of strings");
        const target = std.meta.stringToEnum(Target, item.string) orelse
            return fields.fault.fail("spec", "targets", "targets names {s}, which is no projection", .{item.string});
        if (targets.contains(target)) return fields.fault.fail("spec", "targets", "targets names {s} twice", .{item.string});
        targets.insert(target);
    }
    return targets;
}

test "the specification's learning rates" {
    var spec: Spec = undefined;
    spec.learning_rate = 2e-3;
    spec.warmup_updates = 2;
    spec.updates = 60;
    spec.decay = .cosine;
    spec.decay_floor = 0.1;
    const expected = [_]struct { u64, u64 }{
        .{ 1, 0x3f50624de0000000 },
        .{ 3, 0x3f605f8940000000 },
        .{ 31, 0x3f5205bc00000000 },
        .{ 60, 0x3f2a36e2e0000000 },
    };
    for (expected) |pair| try std.testing.expectEqual(pair[1], @as(u64, @bitCast(spec.learningRate(pair[0]))));
    spec.learning_rate = 2e-4;
    spec.warmup_updates = 317;
    spec.updates = 10536;
    try std.testing.expectEqual(0x3f1feba180000000, @as(u64, @bitCast(spec.learningRate(5000))));
}

test "case E3: linear to zero after two updates of warm-up" {
    var spec: Spec = undefined;
    spec.learning_rate = 1;
    spec.warmup_updates = 2;
    spec.updates = 6;
    spec.decay = .linear;
    spec.decay_floor = 0;
    for ([_]f64{ 0.5, 1, 0.75, 0.5, 0.25, 0 }, 1..) |rate, k| try std.testing.expectEqual(rate, spec.learningRate(k));
}
