//! What went wrong, in the protocol's words. Separate because a Zig error carries no payload: the error says
//! that a request failed, this says status, message and where. One for each thread of work.

const std = @import("std");
const hexapla = @import("hexapla");

/// Everything that can end a request. `Failed`: the Fault says the rest. The core's errors: its diagnostics do.
pub const Error = hexapla.Error || error{ Failed, OutOfMemory };

pub const Fault = struct {
    diagnostics: hexapla.Diagnostics = .{},
    status: []const u8 = "",
    message_buffer: [8192]u8 = undefined,
    message_length: usize = 0,
    where_buffer: [4400]u8 = undefined,
    where_length: usize = 0,

    /// Say what is being worked on, so that a failing core call can be placed: a file, tensor or update.
    pub fn at(self: *Fault, comptime format: []const u8, arguments: anytype) void {
        self.where_length = print(&self.where_buffer, format, arguments);
    }

    /// Fail with one of the protocol's own statuses. `place` is a file:line, key, tensor or update.
    pub fn fail(
        self: *Fault,
        status: []const u8,
        place: []const u8,
        comptime format: []const u8,
        arguments: anytype,
    ) error{Failed} {
        self.status = status;
        self.at("{s}", .{place});
        self.message_length = print(&self.message_buffer, format, arguments);
        return error.Failed;
    }

    /// Fail because the operating system refused a file.
    pub fn io(self: *Fault, path: []const u8, doing: []const u8, cause: anyerror) error{ Failed, OutOfMemory } {
        if (cause == error.OutOfMemory) return error.OutOfMemory;
        return self.fail("io", path, "cannot {s} {s}: {t}", .{ doing, path, cause });
    }

    pub fn message(self: *const Fault) []const u8 {
        return self.message_buffer[0..self.message_length];
    }

    pub fn where(self: *const Fault) []const u8 {
        return self.where_buffer[0..self.where_length];
    }

    /// The core's diagnostics, for the last parameter of its calls.
    pub fn d(self: *Fault) *hexapla.Diagnostics {
        return &self.diagnostics;
    }
};

/// Format into a buffer; a text too long for it is cut at a whole character.
fn print(buffer: []u8, comptime format: []const u8, arguments: anytype) usize {
    var writer: std.Io.Writer = .fixed(buffer);
    writer.print(format, arguments) catch {};
    var length = writer.end;
    while (length > 0 and !std.unicode.utf8ValidateSlice(buffer[0..length])) length -= 1;
    return length;
}

/// The status that an error goes out with.
pub fn statusOf(fault: *const Fault, err: Error) []const u8 {
    return switch (err) {
        error.Failed => fault.status,
        error.OutOfMemory => "internal",
        else => fault.diagnostics.status().name(),
    };
}

/// The text that an error goes out with.
pub fn messageOf(fault: *const Fault, err: Error) []const u8 {
    return switch (err) {
        error.Failed => fault.message(),
        error.OutOfMemory => "host memory is exhausted",
        else => fault.diagnostics.message(),
    };
}

test "a message that does not fit is cut at a whole character" {
    var fault: Fault = .{};
    const long: [9000]u8 = @splat('x');
    try std.testing.expectEqual(error.Failed, fault.fail("io", "file", "{s}", .{&long}));
    try std.testing.expectEqual(8192, fault.message().len);
    var small: [4]u8 = undefined;
    try std.testing.expectEqual(3, print(&small, "abc{s}", .{"\u{e4}\u{e4}"}));
}
