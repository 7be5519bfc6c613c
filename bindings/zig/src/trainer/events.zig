//! Events on stdout: one JSON object a line, flushed line by line. Separate because numbers and digits have
//! the protocol's own form. It knows no event's keys.

const std = @import("std");
const Stringify = std.json.Stringify;

/// A number as the protocol writes it: NaN and the infinities are strings.
pub const Number = struct {
    value: f64,

    pub fn jsonStringify(self: Number, writer: *Stringify) !void {
        if (std.math.isNan(self.value)) return writer.write("NaN");
        if (std.math.isInf(self.value)) return writer.write(if (self.value > 0) "Infinity" else "-Infinity");
        return writer.write(self.value);
    }
};

pub fn number(value: f64) Number {
    return .{ .value = value };
}

/// "0x" and the 16 hex digits of an f64.
pub const Bits = struct {
    value: f64,

    pub fn jsonStringify(self: Bits, writer: *Stringify) !void {
        var buffer: [18]u8 = undefined;
        const pattern: u64 = @bitCast(self.value);
        return writer.write(std.fmt.bufPrint(&buffer, "0x{x:0>16}", .{pattern}) catch unreachable);
    }
};

pub fn bits(value: f64) Bits {
    return .{ .value = value };
}

/// A text that may hold bytes that are not UTF-8 (an operating system's words); then "?" stands for each byte
/// past ASCII.
pub const Text = struct {
    bytes: []const u8,

    pub fn jsonStringify(self: Text, writer: *Stringify) !void {
        if (std.unicode.utf8ValidateSlice(self.bytes)) return writer.write(self.bytes);
        var ascii: [8192]u8 = undefined;
        const length = @min(self.bytes.len, ascii.len);
        for (ascii[0..length], self.bytes[0..length]) |*out, byte| out.* = if (byte < 0x80) byte else '?';
        return writer.write(@as([]const u8, ascii[0..length]));
    }
};

/// Where a request's events go.
pub const Events = struct {
    out: *std.Io.Writer,
    id: []const u8,

    /// Send one event with the fields of a struct as its keys.
    pub fn send(self: Events, event: []const u8, fields: anytype) void {
        self.write(event, fields) catch {
            // Nobody listens any more; there is no one to tell.
            std.process.exit(1);
        };
    }

    fn write(self: Events, event: []const u8, fields: anytype) !void {
        var writer: Stringify = .{ .writer = self.out };
        try writer.beginObject();
        try writer.objectField("id");
        try writer.write(self.id);
        try writer.objectField("event");
        try writer.write(event);
        inline for (@typeInfo(@TypeOf(fields)).@"struct".field_names) |name| {
            try writer.objectField(name);
            try writer.write(@field(fields, name));
        }
        try writer.endObject();
        try self.out.writeByte('\n');
        try self.out.flush();
    }
};

test "numbers that JSON has not are strings, bits are digits" {
    var buffer: [256]u8 = undefined;
    var out: std.Io.Writer = .fixed(&buffer);
    const events: Events = .{ .out = &out, .id = "a" };
    events.send("step", .{ .loss = number(std.math.nan(f64)), .norm = number(-std.math.inf(f64)), .x = bits(1.5) });
    try std.testing.expectEqualStrings(
        "{\"id\":\"a\",\"event\":\"step\",\"loss\":\"NaN\",\"norm\":\"-Infinity\",\"x\":\"0x3ff8000000000000\"}\n",
        out.buffered(),
    );
}
