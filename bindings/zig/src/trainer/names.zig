//! Names and shapes that a checkpoint must hold, compared with those that it holds. Separate because models,
//! adapters and optimizers are refused in the same words: counts and first names.

const std = @import("std");
const hexapla = @import("hexapla");
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;

/// A tensor that must be there. No shape has more than two axes.
pub const Expected = struct {
    name: [:0]const u8,
    dims: [2]i64,
    rank: usize,

    pub fn shape(self: *const Expected) []const i64 {
        return self.dims[0..self.rank];
    }
};

/// One kind of difference: how many, and the first.
const Difference = struct {
    count: usize = 0,
    first: []const u8 = "",

    fn add(self: *Difference, name: []const u8) void {
        if (self.count == 0) self.first = name;
        self.count += 1;
    }
};

/// The index of each expected tensor in the checkpoint. A name of `optional` may be there or not. Any other
/// difference is a `checkpoint` failure.
pub fn locate(
    arena: std.mem.Allocator,
    file: hexapla.Checkpoint,
    expected: []const Expected,
    optional: ?[]const u8,
    path: []const u8,
    fault: *Fault,
) Error![]u64 {
    var numbers: std.StringHashMapUnmanaged(usize) = .empty;
    for (expected, 0..) |each, i| try numbers.put(arena, each.name, i);
    const indices = try arena.alloc(u64, expected.len);
    const found = try arena.alloc(bool, expected.len);
    @memset(found, false);
    var missing: Difference = .{};
    var unexpected: Difference = .{};
    var shapes: Difference = .{};
    for (0..try file.count(fault.d())) |index| {
        const entry = try file.describe(index, fault.d());
        const number = numbers.get(entry.name()) orelse {
            if (optional == null or !std.mem.eql(u8, optional.?, entry.name())) unexpected.add(entry.name());
            continue;
        };
        indices[number] = index;
        found[number] = true;
        if (!std.mem.eql(i64, entry.shape(), expected[number].shape())) shapes.add(entry.name());
    }
    for (expected, found) |each, there| if (!there) missing.add(each.name);
    if (missing.count + unexpected.count + shapes.count == 0) return indices;
    var text: [2048]u8 = undefined;
    var writer: std.Io.Writer = .fixed(&text);
    for ([_]Difference{ missing, unexpected, shapes }, [_][]const u8{ "missing", "unexpected", "of another shape" }) |difference, kind| {
        writer.print("{s}{s} {d}", .{ if (writer.end == 0) "" else ", ", kind, difference.count }) catch break;
        if (difference.count > 0) writer.print(" (first {s})", .{difference.first}) catch break;
    }
    return fault.fail("checkpoint", path, "{s}", .{writer.buffered()});
}
