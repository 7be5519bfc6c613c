//! The order of records: SplitMix64, an epoch's permutation, and which records an update takes. Separate
//! because the order is part of the specification and depends on nothing else.

const std = @import("std");

pub const SplitMix64 = struct {
    state: u64,

    pub fn next(self: *SplitMix64) u64 {
        self.state +%= 0x9E3779B97F4A7C15;
        var z = self.state;
        z = (z ^ (z >> 30)) *% 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) *% 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }
};

/// Fill `out` with the permutation of an epoch.
pub fn shuffle(out: []u32, seed: u64, epoch: u64) void {
    for (out, 0..) |*item, i| item.* = @intCast(i);
    var generator: SplitMix64 = .{ .state = (seed << 32) +% epoch };
    var i = out.len;
    while (i > 1) {
        i -= 1;
        const j: usize = @intCast(generator.next() % (i + 1));
        std.mem.swap(u32, &out[i], &out[j]);
    }
}

/// What an update takes: record numbers of its epoch, in order.
pub const Taken = struct { epoch: u64, records: []const u32 };

/// Updates over `records` accepted records; keeps the permutation of one epoch.
pub const Plan = struct {
    permutation: []u32,
    seed: u64,
    batch: usize,
    epoch: ?u64 = null,

    pub fn init(allocator: std.mem.Allocator, records: usize, seed: u64, batch: usize) !Plan {
        return .{ .permutation = try allocator.alloc(u32, records), .seed = seed, .batch = batch };
    }

    pub fn deinit(self: Plan, allocator: std.mem.Allocator) void {
        allocator.free(self.permutation);
    }

    /// The records of update k, from 1. Valid until an update of another epoch is asked for.
    pub fn update(self: *Plan, k: u64) Taken {
        const count = self.permutation.len;
        const per_epoch = std.math.divCeil(usize, count, self.batch) catch unreachable;
        const epoch = (k - 1) / per_epoch;
        const first: usize = @intCast((k - 1) % per_epoch * self.batch);
        if (self.epoch != epoch) {
            shuffle(self.permutation, self.seed, epoch);
            self.epoch = epoch;
        }
        return .{ .epoch = epoch, .records = self.permutation[first..@min(first + self.batch, count)] };
    }
};

const testing = std.testing;

test "SplitMix64's first number" {
    var generator: SplitMix64 = .{ .state = 0 };
    try testing.expectEqual(0xe220a8397b1dcdaf, generator.next());
}

test "the specification's permutations" {
    var out: [10]u32 = undefined;
    shuffle(&out, 1, 0);
    try testing.expectEqualSlices(u32, &.{ 9, 7, 4, 0, 3, 8, 2, 5, 1, 6 }, &out);
    shuffle(&out, 1, 1);
    try testing.expectEqualSlices(u32, &.{ 1, 6, 3, 2, 4, 5, 9, 8, 0, 7 }, &out);
}

test "an epoch's last update takes what is left" {
    var plan: Plan = try .init(testing.allocator, 18, 1, 4);
    defer plan.deinit(testing.allocator);
    try testing.expectEqual(4, plan.update(1).records.len);
    try testing.expectEqual(2, plan.update(5).records.len);
    const sixth = plan.update(6);
    try testing.expectEqual(1, sixth.epoch);
    try testing.expectEqual(4, sixth.records.len);
}
