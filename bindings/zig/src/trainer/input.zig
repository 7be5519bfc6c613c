//! Lines from stdin. Separate because training asks, between updates and without blocking, whether stdin has
//! ended; a buffered reader of the standard library cannot say so. It parses nothing.

const std = @import("std");

/// The protocol's longest line.
const line_max = 16 << 20;
/// Bytes that are read ahead at most while a run asks whether stdin has ended.
const ahead_max = 2 * line_max;

pub const Line = union(enum) { text: []const u8, too_long };

pub const Input = struct {
    allocator: std.mem.Allocator,
    descriptor: std.posix.fd_t,
    buffer: std.ArrayList(u8) = .empty,
    start: usize = 0,
    /// How far behind `start` no line end was found.
    searched: usize = 0,
    ended: bool = false,
    number: usize = 0,

    pub fn deinit(self: *Input) void {
        self.buffer.deinit(self.allocator);
    }

    /// The next line without its end, valid until the next call; null at the end of stdin.
    pub fn next(self: *Input) !?Line {
        var skipping = false;
        while (true) {
            const rest = self.buffer.items[self.start..];
            if (std.mem.findScalarPos(u8, rest, self.searched, '\n')) |end| {
                return self.take(rest[0..end], end + 1, skipping);
            }
            self.searched = rest.len;
            if (self.ended) {
                if (rest.len == 0 and !skipping) return null;
                return self.take(rest, rest.len, skipping);
            }
            if (rest.len > line_max) {
                skipping = true;
                self.drop();
            }
            try self.readMore();
        }
    }

    fn take(self: *Input, text: []const u8, length: usize, skipping: bool) Line {
        self.start += length;
        self.searched = 0;
        self.number += 1;
        return if (skipping or text.len > line_max) .too_long else .{ .text = text };
    }

    fn drop(self: *Input) void {
        self.buffer.clearRetainingCapacity();
        self.start = 0;
        self.searched = 0;
    }

    /// Whether stdin has ended; reads what lies there and never blocks.
    pub fn hasEnded(self: *Input) bool {
        while (!self.ended and self.buffer.items.len - self.start < ahead_max) {
            var polled = [_]std.posix.pollfd{.{ .fd = self.descriptor, .events = std.posix.POLL.IN, .revents = 0 }};
            const ready = std.posix.poll(&polled, 0) catch return false;
            if (ready == 0) return false;
            self.readMore() catch return false;
        }
        return self.ended;
    }

    fn readMore(self: *Input) !void {
        if (self.start > 0) {
            const rest = self.buffer.items[self.start..];
            std.mem.copyForwards(u8, self.buffer.items[0..rest.len], rest);
            self.buffer.shrinkRetainingCapacity(rest.len);
            self.start = 0;
        }
        try self.buffer.ensureUnusedCapacity(self.allocator, 64 << 10);
        const count = try std.posix.read(self.descriptor, self.buffer.unusedCapacitySlice());
        self.buffer.items.len += count;
        if (count == 0) self.ended = true;
    }
};
