//! A strict reader of one JSON text. Separate because std.json lets pass what the protocol refuses: duplicate
//! keys, lone surrogates, numbers past f64. It knows no request and no record.

const std = @import("std");
const Allocator = std.mem.Allocator;

/// Nesting past this is refused.
const depth_max = 64;

pub const Member = struct { key: []const u8, value: Value };

pub const Value = union(enum) {
    null,
    boolean: bool,
    number: f64,
    string: []const u8,
    array: []const Value,
    object: []const Member,

    /// The value of an object's key; null when absent or when this is no object.
    pub fn get(self: Value, key: []const u8) ?Value {
        if (self != .object) return null;
        for (self.object) |member| if (std.mem.eql(u8, member.key, key)) return member.value;
        return null;
    }

    /// A whole number with |i| < 2^53, else null.
    pub fn integer(self: Value) ?i64 {
        if (self != .number) return null;
        const number = self.number;
        if (@trunc(number) != number or @abs(number) >= 9007199254740992) return null;
        return @intFromFloat(number);
    }
};

/// Read `text`, which must be one value and white space. Strings may be slices of `text`; the rest lies in
/// `arena`. On `Malformed`, `problem` says what is wrong.
pub fn parse(arena: Allocator, text: []const u8, problem: *[]const u8) error{ Malformed, OutOfMemory }!Value {
    var parser: Parser = .{ .arena = arena, .text = text, .problem = problem };
    if (std.mem.startsWith(u8, text, "\xEF\xBB\xBF")) return parser.malformed("a byte-order mark");
    if (!std.unicode.utf8ValidateSlice(text)) return parser.malformed("bytes that are not UTF-8");
    parser.space();
    if (parser.at == text.len) return parser.malformed("an empty line");
    const value = try parser.value(0);
    parser.space();
    if (parser.at != text.len) return parser.malformed("text behind the value");
    return value;
}

const Failure = error{ Malformed, OutOfMemory };

const Parser = struct {
    arena: Allocator,
    text: []const u8,
    problem: *[]const u8,
    at: usize = 0,

    fn malformed(self: *Parser, problem: []const u8) error{Malformed} {
        self.problem.* = problem;
        return error.Malformed;
    }

    fn space(self: *Parser) void {
        while (self.at < self.text.len) : (self.at += 1) switch (self.text[self.at]) {
            ' ', '\t', '\r', '\n' => {},
            else => return,
        };
    }

    fn peek(self: *Parser) u8 {
        return if (self.at < self.text.len) self.text[self.at] else 0;
    }

    fn take(self: *Parser, byte: u8) bool {
        if (self.at >= self.text.len or self.text[self.at] != byte) return false;
        self.at += 1;
        return true;
    }

    fn value(self: *Parser, depth: usize) Failure!Value {
        switch (self.peek()) {
            '{', '[' => if (depth == depth_max) return self.malformed("nesting past 64"),
            else => {},
        }
        return switch (self.peek()) {
            '{' => .{ .object = try self.object(depth + 1) },
            '[' => .{ .array = try self.array(depth + 1) },
            '"' => .{ .string = try self.string() },
            't' => self.word("true", .{ .boolean = true }),
            'f' => self.word("false", .{ .boolean = false }),
            'n' => self.word("null", .null),
            '-', '0'...'9' => .{ .number = try self.number() },
            else => self.malformed("not a JSON value"),
        };
    }

    fn word(self: *Parser, comptime literal: []const u8, result: Value) Failure!Value {
        if (!std.mem.startsWith(u8, self.text[self.at..], literal)) return self.malformed("not a JSON value");
        self.at += literal.len;
        return result;
    }

    fn array(self: *Parser, depth: usize) Failure![]const Value {
        var items: std.ArrayList(Value) = .empty;
        self.at += 1;
        self.space();
        if (self.take(']')) return &.{};
        while (true) {
            self.space();
            try items.append(self.arena, try self.value(depth));
            self.space();
            if (self.take(']')) return items.items;
            if (!self.take(',')) return self.malformed("a comma or ] is missing in an array");
        }
    }

    fn object(self: *Parser, depth: usize) Failure![]const Member {
        var members: std.ArrayList(Member) = .empty;
        var names: std.StringHashMapUnmanaged(void) = .empty;
        self.at += 1;
        self.space();
        if (self.take('}')) return &.{};
        while (true) {
            self.space();
            if (self.peek() != '"') return self.malformed("a key is missing in an object");
            const key = try self.string();
            if ((try names.getOrPut(self.arena, key)).found_existing) return self.malformed("a duplicate key");
            self.space();
            if (!self.take(':')) return self.malformed("a colon is missing in an object");
            self.space();
            try members.append(self.arena, .{ .key = key, .value = try self.value(depth) });
            self.space();
            if (self.take('}')) return members.items;
            if (!self.take(',')) return self.malformed("a comma or } is missing in an object");
        }
    }

    fn digits(self: *Parser) bool {
        const start = self.at;
        while (std.ascii.isDigit(self.peek())) self.at += 1;
        return self.at > start;
    }

    fn number(self: *Parser) Failure!f64 {
        const start = self.at;
        _ = self.take('-');
        if (!self.take('0') and !self.digits()) return self.malformed("a number without digits");
        if (self.take('.') and !self.digits()) return self.malformed("a number without digits");
        if (self.take('e') or self.take('E')) {
            if (!self.take('+')) _ = self.take('-');
            if (!self.digits()) return self.malformed("a number without digits");
        }
        const result = std.fmt.parseFloat(f64, self.text[start..self.at]) catch
            return self.malformed("a number that cannot be read");
        if (!std.math.isFinite(result)) return self.malformed("a number that is not finite in f64");
        return result;
    }

    fn string(self: *Parser) Failure![]const u8 {
        self.at += 1;
        const start = self.at;
        while (true) : (self.at += 1) {
            if (self.at == self.text.len) return self.malformed("a string without an end");
            switch (self.text[self.at]) {
                '"' => {
                    self.at += 1;
                    return self.text[start .. self.at - 1];
                },
                '\\' => return self.escaped(start),
                0...0x1f => return self.malformed("a control character in a string"),
                else => {},
            }
        }
    }

    /// The rest of a string from its first escape on; `start` is where the string begins.
    fn escaped(self: *Parser, start: usize) Failure![]const u8 {
        var out: std.ArrayList(u8) = .empty;
        try out.appendSlice(self.arena, self.text[start..self.at]);
        while (self.at < self.text.len) {
            const byte = self.text[self.at];
            self.at += 1;
            switch (byte) {
                '"' => return out.items,
                0...0x1f => return self.malformed("a control character in a string"),
                '\\' => try self.escape(&out),
                else => try out.append(self.arena, byte),
            }
        }
        return self.malformed("a string without an end");
    }

    fn escape(self: *Parser, out: *std.ArrayList(u8)) Failure!void {
        const kind = self.peek();
        self.at += 1;
        const byte: u8 = switch (kind) {
            '"', '\\', '/' => kind,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.escapedCharacter(out),
            else => return self.malformed("an unknown escape in a string"),
        };
        try out.append(self.arena, byte);
    }

    fn escapedCharacter(self: *Parser, out: *std.ArrayList(u8)) Failure!void {
        var character: u21 = try self.hex();
        switch (character) {
            0xdc00...0xdfff => return self.malformed("a lone surrogate"),
            0xd800...0xdbff => {
                if (!self.take('\\') or !self.take('u')) return self.malformed("a lone surrogate");
                const low = try self.hex();
                if (low < 0xdc00 or low > 0xdfff) return self.malformed("a lone surrogate");
                character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
            },
            else => {},
        }
        var bytes: [4]u8 = undefined;
        const length = std.unicode.utf8Encode(character, &bytes) catch return self.malformed("a lone surrogate");
        try out.appendSlice(self.arena, bytes[0..length]);
    }

    fn hex(self: *Parser) Failure!u21 {
        if (self.text.len - self.at < 4) return self.malformed("an escape that is cut short");
        var result: u21 = 0;
        for (self.text[self.at..][0..4]) |byte| {
            const digit = std.fmt.charToDigit(byte, 16) catch return self.malformed("an escape that is not hexadecimal");
            result = result * 16 + digit;
        }
        self.at += 4;
        return result;
    }
};

const testing = std.testing;

fn expectProblem(text: []const u8, expected: []const u8) !void {
    var arena: std.heap.ArenaAllocator = .init(testing.allocator);
    defer arena.deinit();
    var problem: []const u8 = "";
    try testing.expectError(error.Malformed, parse(arena.allocator(), text, &problem));
    try testing.expectEqualStrings(expected, problem);
}

test "values arrive as written" {
    var arena: std.heap.ArenaAllocator = .init(testing.allocator);
    defer arena.deinit();
    var problem: []const u8 = "";
    const text = "{\"a\": [1, -2.5e1, true, null], \"b\": \"x\\u0000\\ud83d\\ude00\\n\u{2028}\"} \r";
    const value = try parse(arena.allocator(), text, &problem);
    const list = value.get("a").?.array;
    try testing.expectEqual(1, list[0].integer().?);
    try testing.expectEqual(-25.0, list[1].number);
    try testing.expect(list[2].boolean);
    try testing.expectEqual(.null, std.meta.activeTag(list[3]));
    try testing.expectEqualStrings("x\x00\u{1f600}\n\u{2028}", value.get("b").?.string);
}

test "what the protocol refuses is refused" {
    try expectProblem("", "an empty line");
    try expectProblem("\xEF\xBB\xBF{}", "a byte-order mark");
    try expectProblem("\"\xff\"", "bytes that are not UTF-8");
    try expectProblem("{} x", "text behind the value");
    try expectProblem("{\"a\":1,\"\\u0061\":2}", "a duplicate key");
    try expectProblem("\"\\ud800\"", "a lone surrogate");
    try expectProblem("\"\\ud800\\u0041\"", "a lone surrogate");
    try expectProblem("\"\\udc00\"", "a lone surrogate");
    try expectProblem("1e999", "a number that is not finite in f64");
    try expectProblem(nested(65), "nesting past 64");
    try expectProblem("01", "text behind the value");
    try expectProblem("1.", "a number without digits");
    try expectProblem("NaN", "not a JSON value");
    try expectProblem("[1,]", "not a JSON value");
    try expectProblem("\"a\nb\"", "a control character in a string");
    try expectProblem("\"\\u12", "an escape that is cut short");
    try expectProblem("\"\\x\"", "an unknown escape in a string");
}

fn nested(comptime depth: usize) []const u8 {
    const open: [depth]u8 = @splat('[');
    const close: [depth]u8 = @splat(']');
    return &(open ++ close);
}

test "64 levels are accepted" {
    var arena: std.heap.ArenaAllocator = .init(testing.allocator);
    defer arena.deinit();
    var problem: []const u8 = "";
    _ = try parse(arena.allocator(), nested(64), &problem);
}
