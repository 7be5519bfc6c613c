//! A model's config.json, read strictly: what the forward pass needs, and a refusal of everything that would
//! change it. Separate because a shape is never derived and a key never guessed.

const std = @import("std");
const json = @import("json.zig");
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;

/// Parse a JSON file into memory of `arena`. A bad one is a `checkpoint` failure.
pub fn readJson(arena: std.mem.Allocator, io: std.Io, path: []const u8, fault: *Fault) Error!json.Value {
    const bytes = std.Io.Dir.cwd().readFileAlloc(io, path, arena, .unlimited) catch |err| return fault.io(path, "read", err);
    var problem: []const u8 = "";
    const value = json.parse(arena, bytes, &problem) catch |err| switch (err) {
        error.Malformed => return fault.fail("checkpoint", path, "{s} is not JSON: {s}", .{ path, problem }),
        error.OutOfMemory => return error.OutOfMemory,
    };
    if (value != .object) return fault.fail("checkpoint", path, "{s} must hold an object", .{path});
    return value;
}

pub const Config = struct {
    /// qwen3 norms queries and keys per head, llama does not.
    head_norms: bool,
    vocabulary: i64,
    hidden: i64,
    intermediate: i64,
    layers: usize,
    heads: i64,
    kv_heads: i64,
    head_dim: i64,
    epsilon: f64,
    theta: f64,
    tied: bool,

    pub fn read(arena: std.mem.Allocator, io: std.Io, folder: []const u8, fault: *Fault) Error!Config {
        const path = try std.fmt.allocPrint(arena, "{s}/config.json", .{folder});
        const keys: Keys = .{ .value = try readJson(arena, io, path, fault), .path = path, .fault = fault };
        const kind = keys.value.get("model_type") orelse return keys.bad("model_type", "is missing");
        const qwen3 = kind == .string and std.mem.eql(u8, kind.string, "qwen3");
        if (!qwen3 and !(kind == .string and std.mem.eql(u8, kind.string, "llama")))
            return keys.bad("model_type", "must be qwen3 or llama");
        try keys.refuse();
        const config: Config = .{
            .head_norms = qwen3,
            .vocabulary = try keys.size("vocab_size"),
            .hidden = try keys.size("hidden_size"),
            .intermediate = try keys.size("intermediate_size"),
            .layers = @intCast(try keys.size("num_hidden_layers")),
            .heads = try keys.size("num_attention_heads"),
            .kv_heads = try keys.size("num_key_value_heads"),
            .head_dim = try keys.size("head_dim"),
            .epsilon = try keys.positive(keys.value, "rms_norm_eps"),
            .theta = try keys.theta(),
            .tied = try keys.flag("tie_word_embeddings"),
        };
        if (@mod(config.heads, config.kv_heads) != 0)
            return keys.bad("num_attention_heads", "must be a multiple of num_key_value_heads");
        if (@mod(config.head_dim, 2) != 0) return keys.bad("head_dim", "must be even");
        return config;
    }
};

const Keys = struct {
    value: json.Value,
    path: []const u8,
    fault: *Fault,

    fn bad(self: Keys, key: []const u8, problem: []const u8) error{Failed} {
        var where: [4200]u8 = undefined;
        const place = std.fmt.bufPrint(&where, "{s}:{s}", .{ self.path, key }) catch key;
        return self.fault.fail("checkpoint", place, "config.json: {s} {s}", .{ key, problem });
    }

    fn size(self: Keys, key: []const u8) Error!i64 {
        const found = self.value.get(key) orelse return self.bad(key, "is missing");
        const number = found.integer() orelse return self.bad(key, "must be a whole number");
        if (number < 1 or number > std.math.maxInt(i32)) return self.bad(key, "must be from 1 to 2147483647");
        return number;
    }

    fn positive(self: Keys, object: json.Value, key: []const u8) Error!f64 {
        const found = object.get(key) orelse return self.bad(key, "is missing");
        if (found != .number or found.number <= 0) return self.bad(key, "must be a number above 0");
        return found.number;
    }

    fn flag(self: Keys, key: []const u8) Error!bool {
        const found = self.value.get(key) orelse return self.bad(key, "is missing");
        if (found != .boolean) return self.bad(key, "must be true or false");
        return found.boolean;
    }

    /// rope_theta stands at the top, or inside rope_parameters.
    fn theta(self: Keys) Error!f64 {
        if (self.value.get("rope_theta") != null) return self.positive(self.value, "rope_theta");
        const inner = self.value.get("rope_parameters") orelse return self.bad("rope_theta", "is missing");
        return self.positive(inner, "rope_theta");
    }

    /// Refuse what the forward pass does not do.
    fn refuse(self: Keys) Error!void {
        for ([_][]const u8{ "quantization", "quantization_config", "rope_scaling" }) |key| {
            if (self.value.get(key)) |found| if (found != .null) return self.bad(key, "is not supported");
        }
        for ([_][]const u8{ "attention_bias", "mlp_bias", "use_sliding_window" }) |key| {
            const found = self.value.get(key) orelse continue;
            if (found != .null and !(found == .boolean and !found.boolean)) return self.bad(key, "must be false");
        }
        if (self.value.get("hidden_act")) |found| {
            if (found != .string or !std.mem.eql(u8, found.string, "silu")) return self.bad("hidden_act", "must be silu");
        }
        const parameters = self.value.get("rope_parameters") orelse return;
        const kind = parameters.get("rope_type") orelse return;
        if (kind != .string or !std.mem.eql(u8, kind.string, "default"))
            return self.bad("rope_parameters", "must be of rope_type default: scaling is not supported");
    }
};
