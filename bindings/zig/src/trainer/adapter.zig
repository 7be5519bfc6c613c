//! The adapter: A and B of each target in adapter order, and what training adds to them (gradients, moments).
//! Separate from the model, which is never changed.

const std = @import("std");
const hexapla = @import("hexapla");
const names = @import("names.zig");
const model = @import("model.zig");
const readJson = @import("config.zig").readJson;
const Config = @import("config.zig").Config;
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;
const Spec = @import("spec.zig").Spec;
const Target = @import("spec.zig").Target;
const Tensor = hexapla.Tensor;

pub const file_name = "adapter_model.safetensors";
pub const config_name = "adapter_config.json";

/// Names and shapes of an adapter, A before B of each target; `prefix` stands before every name.
pub fn expectedTensors(
    arena: std.mem.Allocator,
    config: Config,
    spec: Spec,
    prefix: []const u8,
) error{OutOfMemory}![]names.Expected {
    var list: std.ArrayList(names.Expected) = .empty;
    for (0..config.layers) |i| for (std.enums.values(Target)) |target| {
        if (!spec.targets.contains(target)) continue;
        const size = model.projection(config, target);
        for ([_][]const u8{ "A", "B" }, [_][2]i64{ .{ spec.rank, size.in }, .{ size.out, spec.rank } }) |letter, dims| {
            const name = try std.fmt.allocPrintSentinel(
                arena,
                "{s}base_model.model.model.layers.{d}.{s}.{t}.lora_{s}.weight",
                .{ prefix, i, target.block(), target, letter },
                0,
            );
            try list.append(arena, .{ .name = name, .dims = dims, .rank = 2 });
        }
    };
    return list.items;
}

/// Check that adapter_config.json agrees with the specification; its bytes, to be copied into checkpoints.
pub fn readConfig(arena: std.mem.Allocator, io: std.Io, folder: []const u8, spec: Spec, fault: *Fault) Error![]const u8 {
    const path = try std.fmt.allocPrint(arena, "{s}/{s}", .{ folder, config_name });
    const value = try readJson(arena, io, path, fault);
    const wanted = [_]f64{ @floatFromInt(spec.rank), spec.alpha };
    for ([_][]const u8{ "r", "lora_alpha" }, wanted) |key, number| {
        const found = value.get(key) orelse return fault.fail("checkpoint", path, "{s} has no {s}", .{ path, key });
        if (found != .number or found.number != number)
            return fault.fail("checkpoint", path, "{s}: {s} differs from the spec's {d}", .{ path, key, number });
    }
    return std.Io.Dir.cwd().readFileAlloc(io, path, arena, .unlimited) catch |err| fault.io(path, "read", err);
}

/// Read tensors of a file in the order of `expected`.
pub fn readTensors(
    allocator: std.mem.Allocator,
    arena: std.mem.Allocator,
    path: [:0]const u8,
    expected: []const names.Expected,
    context: hexapla.Context,
    fault: *Fault,
) Error![]Tensor {
    fault.at("{s}", .{path});
    const file = try hexapla.Checkpoint.open(path, fault.d());
    defer file.deinit();
    const indices = try names.locate(arena, file, expected, null, path, fault);
    var list: std.ArrayList(Tensor) = .empty;
    errdefer release(allocator, &list);
    for (indices, expected) |index, each| {
        fault.at("tensor {s}", .{each.name});
        try list.ensureUnusedCapacity(allocator, 1);
        list.appendAssumeCapacity(try file.read(index, context, fault.d()));
    }
    return list.toOwnedSlice(allocator);
}

/// Tensors of zeros, of the shapes of `expected`.
pub fn zeros(
    allocator: std.mem.Allocator,
    expected: []const names.Expected,
    context: hexapla.Context,
    fault: *Fault,
) Error![]Tensor {
    var list: std.ArrayList(Tensor) = .empty;
    errdefer release(allocator, &list);
    for (expected) |*each| {
        try list.ensureUnusedCapacity(allocator, 1);
        list.appendAssumeCapacity(try Tensor.init(context, each.shape(), fault.d()));
    }
    return list.toOwnedSlice(allocator);
}

fn release(allocator: std.mem.Allocator, list: *std.ArrayList(Tensor)) void {
    for (list.items) |tensor| tensor.deinit();
    list.deinit(allocator);
}

/// Give tensors back, and the slice that held them.
pub fn free(allocator: std.mem.Allocator, tensors: []Tensor) void {
    for (tensors) |tensor| tensor.deinit();
    allocator.free(tensors);
}

/// An adapter, ready for the forward pass.
pub const Adapter = struct {
    allocator: std.mem.Allocator,
    expected: []const names.Expected,
    tensors: []Tensor,
    targets: std.EnumSet(Target),
    scale: f64,

    /// `arena` holds the names and must outlive the adapter.
    pub fn load(
        allocator: std.mem.Allocator,
        arena: std.mem.Allocator,
        folder: []const u8,
        config: Config,
        spec: Spec,
        context: hexapla.Context,
        fault: *Fault,
    ) Error!Adapter {
        const expected = try expectedTensors(arena, config, spec, "");
        const path = try std.fmt.allocPrintSentinel(arena, "{s}/{s}", .{ folder, file_name }, 0);
        const tensors = try readTensors(allocator, arena, path, expected, context, fault);
        return .{
            .allocator = allocator,
            .expected = expected,
            .tensors = tensors,
            .targets = spec.targets,
            .scale = spec.scale(),
        };
    }

    pub fn deinit(self: Adapter) void {
        free(self.allocator, self.tensors);
    }

    /// A and B of a layer's target; null when the specification does not train it.
    pub fn pair(self: *const Adapter, layer: usize, target: Target) ?[2]Tensor {
        if (!self.targets.contains(target)) return null;
        var before: usize = 0;
        for (std.enums.values(Target)) |each| {
            if (each == target) break;
            before += @intFromBool(self.targets.contains(each));
        }
        const first = 2 * (layer * self.targets.count() + before);
        return .{ self.tensors[first], self.tensors[first + 1] };
    }

    pub fn digest(self: *const Adapter, fault: *Fault) Error!hexapla.Digest {
        return hexapla.digest(self.tensors, fault.d());
    }
};

/// Gradients and both moments of an adapter, each in adapter order.
pub const Training = struct {
    allocator: std.mem.Allocator,
    gradients: []Tensor,
    exp_avg: []Tensor,
    exp_avg_sq: []Tensor,

    /// Gradients and moments of zeros.
    pub fn init(allocator: std.mem.Allocator, adapter: *const Adapter, context: hexapla.Context, fault: *Fault) Error!Training {
        const exp_avg = try zeros(allocator, adapter.expected, context, fault);
        errdefer free(allocator, exp_avg);
        const exp_avg_sq = try zeros(allocator, adapter.expected, context, fault);
        errdefer free(allocator, exp_avg_sq);
        return withMoments(allocator, adapter, exp_avg, exp_avg_sq, context, fault);
    }

    /// Gradients of zeros beside moments that were read; takes those over if it succeeds.
    pub fn withMoments(
        allocator: std.mem.Allocator,
        adapter: *const Adapter,
        exp_avg: []Tensor,
        exp_avg_sq: []Tensor,
        context: hexapla.Context,
        fault: *Fault,
    ) Error!Training {
        const gradients = try zeros(allocator, adapter.expected, context, fault);
        return .{ .allocator = allocator, .gradients = gradients, .exp_avg = exp_avg, .exp_avg_sq = exp_avg_sq };
    }

    pub fn deinit(self: Training) void {
        free(self.allocator, self.gradients);
        free(self.allocator, self.exp_avg);
        free(self.allocator, self.exp_avg_sq);
    }

    /// exp_avg, then exp_avg_sq, of each tensor.
    pub fn digest(self: *const Training, arena: std.mem.Allocator, fault: *Fault) Error!hexapla.Digest {
        const both = try arena.alloc(Tensor, 2 * self.exp_avg.len);
        defer arena.free(both);
        for (self.exp_avg, self.exp_avg_sq, 0..) |first, second, i| {
            both[2 * i] = first;
            both[2 * i + 1] = second;
        }
        return hexapla.digest(both, fault.d());
    }
};
