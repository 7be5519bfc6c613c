//! A micro-batch: records end to end, as the arrays that the operations take; and the digest of an update's
//! batch. Separate because packing is host work alone. It calls no operation.

const std = @import("std");
const Example = @import("render.zig").Example;

/// Arrays of one micro-batch; `rows` and `targets` have one item a label, in packed order.
pub const MicroBatch = struct {
    ids: []const i32,
    /// Restart at 0 with every record.
    positions: []const i32,
    /// Each record's first row, then the row behind the last record.
    starts: []const i32,
    /// The row before each flagged id.
    rows: []const i32,
    /// The flagged ids.
    targets: []const i32,
    /// Labels of each record.
    labels: []const usize,

    /// Pack `examples` into memory of `arena`.
    pub fn init(arena: std.mem.Allocator, examples: []const Example) error{OutOfMemory}!MicroBatch {
        var id_count: usize = 0;
        var label_count: usize = 0;
        for (examples) |example| {
            id_count += example.ids.len;
            label_count += example.flagged;
        }
        const ids = try arena.alloc(i32, id_count);
        const positions = try arena.alloc(i32, id_count);
        const starts = try arena.alloc(i32, examples.len + 1);
        const rows = try arena.alloc(i32, label_count);
        const targets = try arena.alloc(i32, label_count);
        const labels = try arena.alloc(usize, examples.len);
        var row: usize = 0;
        var label: usize = 0;
        for (examples, 0..) |example, i| {
            starts[i] = @intCast(row);
            labels[i] = example.flagged;
            for (example.ids, example.labels, 0..) |id, flag, position| {
                ids[row] = id;
                positions[row] = @intCast(position);
                if (flag == 1) {
                    rows[label] = @intCast(row - 1);
                    targets[label] = id;
                    label += 1;
                }
                row += 1;
            }
        }
        starts[examples.len] = @intCast(row);
        return .{ .ids = ids, .positions = positions, .starts = starts, .rows = rows, .targets = targets, .labels = labels };
    }
};

/// FNV-1a 64 over records.
pub const Digest = struct {
    state: u64 = 0xCBF29CE484222325,

    fn bytes(self: *Digest, data: []const u8) void {
        for (data) |byte| self.state = (self.state ^ byte) *% 0x100000001B3;
    }

    fn word(self: *Digest, value: u32) void {
        var little: [4]u8 = undefined;
        std.mem.writeInt(u32, &little, value, .little);
        self.bytes(&little);
    }

    /// Add a record: its id count and ids, then a byte a label.
    pub fn add(self: *Digest, example: Example) void {
        self.word(@intCast(example.ids.len));
        for (example.ids) |id| self.word(@bitCast(id));
        self.bytes(example.labels);
    }

    pub fn hex(self: Digest) [16]u8 {
        var text: [16]u8 = undefined;
        _ = std.fmt.bufPrint(&text, "{x:0>16}", .{self.state}) catch unreachable;
        return text;
    }
};

test "case D1's batch digest and arrays" {
    const ids = [_]i32{
        151644, 872, 198,    3872,  29067, 220,    16,  20,     15,  14,   24, 20,     1550, 30,
        151645, 198, 151644, 77091, 198,   151667, 271, 151668, 271, 9454, 13, 151645, 198,
    };
    var labels: [27]u8 = @splat(0);
    @memset(labels[23..26], 1);
    const example: Example = .{ .ids = &ids, .labels = &labels, .flagged = 3 };
    var digest: Digest = .{};
    digest.add(example);
    try std.testing.expectEqualStrings("d07c95059f5dc313", &digest.hex());

    var arena: std.heap.ArenaAllocator = .init(std.testing.allocator);
    defer arena.deinit();
    const micro = try MicroBatch.init(arena.allocator(), &.{ example, example });
    try std.testing.expectEqualSlices(i32, &.{ 0, 27, 54 }, micro.starts);
    try std.testing.expectEqualSlices(i32, &.{ 22, 23, 24, 49, 50, 51 }, micro.rows);
    try std.testing.expectEqualSlices(i32, &.{ 9454, 13, 151645, 9454, 13, 151645 }, micro.targets);
    try std.testing.expectEqual(0, micro.positions[27]);
}
