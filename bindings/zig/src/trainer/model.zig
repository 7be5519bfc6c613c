//! The base model: its tensors by name, loaded once, never changed. Separate from the adapter, which is what
//! is trained, and from the forward pass, which reads both.

const std = @import("std");
const hexapla = @import("hexapla");
const names = @import("names.zig");
const Config = @import("config.zig").Config;
const Expected = names.Expected;
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;
const Target = @import("spec.zig").Target;
const Tensor = hexapla.Tensor;

pub const embedding_name = "model.embed_tokens.weight";
pub const head_name = "lm_head.weight";

/// One layer's tensors. The norms of queries and keys are there in a qwen3 model only.
pub const Layer = struct {
    input_norm: Tensor,
    post_norm: Tensor,
    q_norm: Tensor = .none,
    k_norm: Tensor = .none,
    weights: std.EnumArray(Target, Tensor),
};

pub const Model = struct {
    allocator: std.mem.Allocator,
    config: Config,
    /// All tensors that this model owns, in the order of `expectedTensors`.
    tensors: []Tensor,
    layers: []Layer,
    embedding: Tensor,
    norm: Tensor,
    /// The embedding when tied.
    head: Tensor,

    /// Load a model folder. `arena` holds only what loading needs.
    pub fn load(
        allocator: std.mem.Allocator,
        arena: std.mem.Allocator,
        io: std.Io,
        folder: [:0]const u8,
        context: hexapla.Context,
        fault: *Fault,
    ) Error!Model {
        const config = try Config.read(arena, io, folder, fault);
        fault.at("{s}", .{folder});
        const file = try hexapla.Checkpoint.open(folder, fault.d());
        defer file.deinit();
        const expected = try expectedTensors(arena, config);
        const indices = try names.locate(arena, file, expected, optionalName(config), folder, fault);
        const tensors = try allocator.alloc(Tensor, expected.len);
        errdefer allocator.free(tensors);
        var loaded: usize = 0;
        errdefer for (tensors[0..loaded]) |tensor| tensor.deinit();
        for (indices, expected) |index, each| {
            fault.at("tensor {s}", .{each.name});
            tensors[loaded] = try file.read(index, context, fault.d());
            loaded += 1;
        }
        if (config.tied) try checkTiedHead(file, tensors[0], context, folder, fault);
        const layers = try allocator.alloc(Layer, config.layers);
        return arrange(allocator, config, tensors, layers);
    }

    pub fn deinit(self: Model) void {
        for (self.tensors) |tensor| tensor.deinit();
        self.allocator.free(self.tensors);
        self.allocator.free(self.layers);
    }
};

/// The name that may be there or not: the head of a tied model.
pub fn optionalName(config: Config) ?[]const u8 {
    return if (config.tied) head_name else null;
}

/// Deal the tensors out to their places; the order is that of `expectedTensors`.
fn arrange(allocator: std.mem.Allocator, config: Config, tensors: []Tensor, layers: []Layer) Model {
    var next: usize = 2;
    const head = if (config.tied) tensors[0] else tensors[2];
    if (!config.tied) next += 1;
    for (layers) |*layer| {
        layer.* = .{ .input_norm = tensors[next], .post_norm = tensors[next + 1], .weights = undefined };
        next += 2;
        for (std.enums.values(Target)) |target| {
            layer.weights.set(target, tensors[next]);
            next += 1;
        }
        if (config.head_norms) {
            layer.q_norm = tensors[next];
            layer.k_norm = tensors[next + 1];
            next += 2;
        }
    }
    return .{
        .allocator = allocator,
        .config = config,
        .tensors = tensors,
        .layers = layers,
        .embedding = tensors[0],
        .norm = tensors[1],
        .head = head,
    };
}

/// Every tensor of a model of this shape, a tied head left out.
pub fn expectedTensors(arena: std.mem.Allocator, config: Config) error{OutOfMemory}![]Expected {
    var list: std.ArrayList(Expected) = .empty;
    try matrix(arena, &list, embedding_name, .{}, config.vocabulary, config.hidden);
    try vector(arena, &list, "model.norm.weight", .{}, config.hidden);
    if (!config.tied) try matrix(arena, &list, head_name, .{}, config.vocabulary, config.hidden);
    for (0..config.layers) |i| {
        try vector(arena, &list, "model.layers.{d}.input_layernorm.weight", .{i}, config.hidden);
        try vector(arena, &list, "model.layers.{d}.post_attention_layernorm.weight", .{i}, config.hidden);
        for (std.enums.values(Target)) |target| {
            const size = projection(config, target);
            try matrix(arena, &list, "model.layers.{d}.{s}.{t}.weight", .{ i, target.block(), target }, size.out, size.in);
        }
        if (config.head_norms) {
            try vector(arena, &list, "model.layers.{d}.self_attn.q_norm.weight", .{i}, config.head_dim);
            try vector(arena, &list, "model.layers.{d}.self_attn.k_norm.weight", .{i}, config.head_dim);
        }
    }
    return list.items;
}

fn matrix(
    arena: std.mem.Allocator,
    list: *std.ArrayList(Expected),
    comptime format: []const u8,
    arguments: anytype,
    rows: i64,
    columns: i64,
) !void {
    const name = try std.fmt.allocPrintSentinel(arena, format, arguments, 0);
    try list.append(arena, .{ .name = name, .dims = .{ rows, columns }, .rank = 2 });
}

fn vector(
    arena: std.mem.Allocator,
    list: *std.ArrayList(Expected),
    comptime format: []const u8,
    arguments: anytype,
    size: i64,
) !void {
    const name = try std.fmt.allocPrintSentinel(arena, format, arguments, 0);
    try list.append(arena, .{ .name = name, .dims = .{ size, 0 }, .rank = 1 });
}

/// A projection's input and output widths.
pub fn projection(config: Config, target: Target) struct { in: i64, out: i64 } {
    const query = config.heads * config.head_dim;
    const key = config.kv_heads * config.head_dim;
    return switch (target) {
        .q_proj => .{ .in = config.hidden, .out = query },
        .k_proj, .v_proj => .{ .in = config.hidden, .out = key },
        .o_proj => .{ .in = query, .out = config.hidden },
        .gate_proj, .up_proj => .{ .in = config.hidden, .out = config.intermediate },
        .down_proj => .{ .in = config.intermediate, .out = config.hidden },
    };
}

/// A head that is stored beside a tied embedding must equal it.
pub fn checkTiedHead(
    file: hexapla.Checkpoint,
    embedding: Tensor,
    context: hexapla.Context,
    path: []const u8,
    fault: *Fault,
) Error!void {
    fault.at("tensor {s}", .{head_name});
    const index = file.find(head_name, fault.d()) catch |err| switch (err) {
        error.NotFound => return,
        else => return err,
    };
    const head = try file.read(index, context, fault.d());
    defer head.deinit();
    const own = try hexapla.digest(&.{head}, fault.d());
    const tied = try hexapla.digest(&.{embedding}, fault.d());
    const entry = try file.describe(index, fault.d());
    const info = try embedding.describe(fault.d());
    if (!std.mem.eql(i64, entry.shape(), info.shape()) or !std.mem.eql(u8, &own, &tied))
        return fault.fail(
            "checkpoint",
            path,
            "{s} is stored and differs from {s}, but the config ties them",
            .{ head_name, embedding_name },
        );
}
