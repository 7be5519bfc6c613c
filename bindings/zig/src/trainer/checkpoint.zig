//! Checkpoints of a run: written whole or not at all, and read to resume. Separate because the folder's
//! layout is part of the specification.

const std = @import("std");
const hexapla = @import("hexapla");
const adapter_files = @import("adapter.zig");
const events = @import("events.zig");
const names = @import("names.zig");
const Config = @import("config.zig").Config;
const Error = @import("fault.zig").Error;
const Fault = @import("fault.zig").Fault;
const Learner = @import("learner.zig").Learner;
const Spec = @import("spec.zig").Spec;
const Tensor = hexapla.Tensor;

const optimizer_name = "optimizer.safetensors";
const first_prefix = "exp_avg.";
const second_prefix = "exp_avg_sq.";

/// Which updates are saved.
pub const Due = struct {
    start: u64,
    every: u64,
    last: u64,
    stop_after: ?u64,

    pub fn saves(self: Due, k: u64) bool {
        if (k <= self.start or k > (self.stop_after orelse self.last)) return false;
        return k % self.every == 0 or k == self.last or k == self.stop_after;
    }
};

/// Make the output folder; a checkpoint that is due and exists is an `io` failure, left-over `.partial`
/// folders of due ones are removed.
pub fn prepare(arena: std.mem.Allocator, io: std.Io, output: []const u8, due: Due, fault: *Fault) Error!void {
    const cwd = std.Io.Dir.cwd();
    cwd.createDirPath(io, output) catch |err| return fault.io(output, "make", err);
    var folder = cwd.openDir(io, output, .{ .iterate = true }) catch |err| return fault.io(output, "open", err);
    defer folder.close(io);
    var left_over: std.ArrayList([]const u8) = .empty;
    var iterator = folder.iterate();
    while (iterator.next(io) catch |err| return fault.io(output, "list", err)) |entry| {
        const partial = std.mem.endsWith(u8, entry.name, ".partial");
        const name = if (partial) entry.name[0 .. entry.name.len - ".partial".len] else entry.name;
        if (!std.mem.startsWith(u8, name, "checkpoint-")) continue;
        const update = std.fmt.parseInt(u64, name["checkpoint-".len..], 10) catch continue;
        if (!due.saves(update)) continue;
        if (!partial) {
            const path = try std.fmt.allocPrint(arena, "{s}/{s}", .{ output, entry.name });
            return fault.fail("io", path, "{s} exists: choose another output folder or remove it", .{path});
        }
        try left_over.append(arena, try arena.dupe(u8, entry.name));
    }
    for (left_over.items) |name| folder.deleteTree(io, name) catch |err| return fault.io(name, "remove", err);
}

/// What every checkpoint of a run repeats.
pub const Writer = struct {
    output: []const u8,
    adapter_config: []const u8,
    spec_digest: [:0]const u8,

    /// Save the state after update k; the checkpoint's path, in memory of `arena`.
    pub fn save(self: Writer, learner: *const Learner, k: u64, arena: std.mem.Allocator) Error![:0]const u8 {
        const fault = learner.fault;
        const io = learner.io;
        const cwd = std.Io.Dir.cwd();
        const path = try std.fmt.allocPrintSentinel(arena, "{s}/checkpoint-{d:0>6}", .{ self.output, k }, 0);
        const partial = try std.fmt.allocPrintSentinel(arena, "{s}.partial", .{path}, 0);
        cwd.deleteTree(io, partial) catch |err| return fault.io(partial, "remove", err);
        cwd.createDirPath(io, partial) catch |err| return fault.io(partial, "make", err);
        errdefer cwd.deleteTree(io, partial) catch {};
        fault.at("{s}", .{path});
        try self.writeAdapter(learner, partial, arena);
        try self.writeOptimizer(learner, k, partial, arena);
        const config = try std.fmt.allocPrint(arena, "{s}/{s}", .{ partial, adapter_files.config_name });
        cwd.writeFile(io, .{ .sub_path = config, .data = self.adapter_config }) catch |err| return fault.io(config, "write", err);
        try hexapla.checkpoint.commit(partial, path, fault.d());
        return path;
    }

    fn writeAdapter(_: Writer, learner: *const Learner, folder: []const u8, arena: std.mem.Allocator) Error!void {
        const expected = learner.adapter.expected;
        const tensor_names = try arena.alloc([*:0]const u8, expected.len);
        for (tensor_names, expected) |*name, each| name.* = each.name.ptr;
        const path = try std.fmt.allocPrintSentinel(arena, "{s}/{s}", .{ folder, adapter_files.file_name }, 0);
        return hexapla.checkpoint.write(path, tensor_names, learner.adapter.tensors, &.{}, learner.fault.d());
    }

    fn writeOptimizer(self: Writer, learner: *const Learner, k: u64, folder: []const u8, arena: std.mem.Allocator) Error!void {
        const count = learner.adapter.expected.len;
        const tensor_names = try arena.alloc([*:0]const u8, 2 * count);
        const tensors = try arena.alloc(Tensor, 2 * count);
        for (learner.adapter.expected, 0..) |each, i| {
            tensor_names[2 * i] = try std.fmt.allocPrintSentinel(arena, first_prefix ++ "{s}", .{each.name}, 0);
            tensor_names[2 * i + 1] = try std.fmt.allocPrintSentinel(arena, second_prefix ++ "{s}", .{each.name}, 0);
            tensors[2 * i] = learner.training.exp_avg[i];
            tensors[2 * i + 1] = learner.training.exp_avg_sq[i];
        }
        const path = try std.fmt.allocPrintSentinel(arena, "{s}/{s}", .{ folder, optimizer_name }, 0);
        const update = try std.fmt.allocPrintSentinel(arena, "{d}", .{k}, 0);
        return hexapla.checkpoint.write(path, tensor_names, tensors, &.{
            .{ .key = "update", .value = update },
            .{ .key = "spec_digest", .value = self.spec_digest },
        }, learner.fault.d());
    }

    /// Save and send the event.
    pub fn report(self: Writer, learner: *const Learner, k: u64, out: events.Events) Error!void {
        var arena: std.heap.ArenaAllocator = .init(learner.allocator);
        defer arena.deinit();
        const path = try self.save(learner, k, arena.allocator());
        out.send("checkpoint", .{
            .step = k,
            .path = @as([]const u8, path),
            .adapter_digest = try learner.adapter.digest(learner.fault),
            .optimizer_digest = try learner.training.digest(arena.allocator(), learner.fault),
        });
    }
};

/// The update that a checkpoint was saved after. Another spec_digest is refused.
pub fn savedUpdate(arena: std.mem.Allocator, folder: []const u8, spec_digest: []const u8, fault: *Fault) Error!u64 {
    const path = try std.fmt.allocPrintSentinel(arena, "{s}/{s}", .{ folder, optimizer_name }, 0);
    fault.at("{s}", .{path});
    const file = try hexapla.Checkpoint.open(path, fault.d());
    defer file.deinit();
    const buffer = try arena.alloc(u8, 64 << 10);
    const digest = try file.metadata("spec_digest", buffer, fault.d());
    if (!std.mem.eql(u8, digest, spec_digest))
        return fault.fail("checkpoint", path, "spec_digest is {s}, the request's is {s}", .{ digest, spec_digest });
    const text = try file.metadata("update", buffer, fault.d());
    return std.fmt.parseUnsigned(u64, text, 10) catch
        fault.fail("checkpoint", path, "update is {s}, must be a decimal number", .{text});
}

/// Both moments of every tensor, as saved; the caller owns slices and tensors.
pub const Moments = struct { exp_avg: []Tensor, exp_avg_sq: []Tensor };

/// Read a checkpoint's moments. A missing tensor is refused.
pub fn readMoments(
    allocator: std.mem.Allocator,
    arena: std.mem.Allocator,
    folder: []const u8,
    config: Config,
    spec: Spec,
    context: hexapla.Context,
    fault: *Fault,
) Error!Moments {
    const first = try adapter_files.expectedTensors(arena, config, spec, first_prefix);
    const second = try adapter_files.expectedTensors(arena, config, spec, second_prefix);
    const expected = try std.mem.concat(arena, names.Expected, &.{ first, second });
    const path = try std.fmt.allocPrintSentinel(arena, "{s}/{s}", .{ folder, optimizer_name }, 0);
    const tensors = try adapter_files.readTensors(allocator, arena, path, expected, context, fault);
    defer allocator.free(tensors);
    errdefer for (tensors) |tensor| tensor.deinit();
    const exp_avg = try allocator.dupe(Tensor, tensors[0..first.len]);
    errdefer allocator.free(exp_avg);
    return .{ .exp_avg = exp_avg, .exp_avg_sq = try allocator.dupe(Tensor, tensors[first.len..]) };
}
