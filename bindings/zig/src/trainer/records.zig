//! Records: a JSON Lines file read one record at a time. Separate because the file is checked line by line
//! before anything is rendered. It knows no template and no token.

const std = @import("std");
const json = @import("json.zig");
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;

/// One record. Its strings die with the next one.
pub const Record = struct {
    id: []const u8,
    system: ?[]const u8,
    question: []const u8,
    answer: []const u8,
};

/// Reads the records of a file, in its order.
pub const Reader = struct {
    path: []const u8,
    bytes: []const u8,
    fault: *Fault,
    allocator: std.mem.Allocator,
    /// Memory of the current record.
    scratch: std.heap.ArenaAllocator,
    /// Memory of all ids.
    names: std.heap.ArenaAllocator,
    seen: std.StringHashMapUnmanaged(void) = .empty,
    start: usize = 0,
    line: usize = 0,

    pub fn open(allocator: std.mem.Allocator, io: std.Io, path: []const u8, fault: *Fault) Error!Reader {
        const bytes = std.Io.Dir.cwd().readFileAlloc(io, path, allocator, .unlimited) catch |err|
            return fault.io(path, "read", err);
        return .{
            .path = path,
            .bytes = bytes,
            .fault = fault,
            .allocator = allocator,
            .scratch = .init(allocator),
            .names = .init(allocator),
        };
    }

    pub fn close(self: *Reader) void {
        self.scratch.deinit();
        self.names.deinit();
        self.allocator.free(self.bytes);
    }

    /// The next record; null behind the last one.
    pub fn next(self: *Reader) Error!?Record {
        if (self.start == self.bytes.len) return null;
        const end = std.mem.findScalarPos(u8, self.bytes, self.start, '\n') orelse self.bytes.len;
        const text = self.bytes[self.start..end];
        self.start = @min(end + 1, self.bytes.len);
        self.line += 1;
        _ = self.scratch.reset(.retain_capacity);
        var problem: []const u8 = "";
        const value = json.parse(self.scratch.allocator(), text, &problem) catch |err| switch (err) {
            error.Malformed => return self.refuse("{s}", .{problem}),
            error.OutOfMemory => return error.OutOfMemory,
        };
        if (value != .object) return self.refuse("a record must be an object", .{});
        const record: Record = .{
            .id = try self.string(value, "id") orelse return self.refuse("a record without id", .{}),
            .system = try self.string(value, "system"),
            .question = try self.string(value, "question") orelse return self.refuse("a record without question", .{}),
            .answer = try self.string(value, "answer") orelse return self.refuse("a record without answer", .{}),
        };
        const names = self.names.allocator();
        if (self.seen.contains(record.id)) return self.refuse("id {s} is there twice", .{record.id});
        try self.seen.put(names, try names.dupe(u8, record.id), {});
        return record;
    }

    fn string(self: *Reader, value: json.Value, key: []const u8) Error!?[]const u8 {
        const found = value.get(key) orelse return null;
        if (found != .string) return self.refuse("{s} must be a string", .{key});
        return found.string;
    }

    fn refuse(self: *Reader, comptime format: []const u8, arguments: anytype) error{Failed} {
        var where: [4200]u8 = undefined;
        const place = std.fmt.bufPrint(&where, "{s}:{d}", .{ self.path, self.line }) catch self.path;
        return self.fault.fail("record", place, format, arguments);
    }
};
