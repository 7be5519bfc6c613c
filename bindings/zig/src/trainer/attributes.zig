//! Attributes of one operator case, by type. Separate because, unlike a request's keys, attributes are named
//! by their op and those of other ops are ignored.

const std = @import("std");
const json = @import("json.zig");
const Error = @import("fault.zig").Error;
const Fault = @import("fault.zig").Fault;

pub const Attributes = struct {
    object: json.Value,
    fault: *Fault,
    arena: std.mem.Allocator,

    pub fn bad(self: Attributes, key: []const u8, must: []const u8) error{Failed} {
        return self.fault.fail("request", key, "attribute {s} must be {s}", .{ key, must });
    }

    /// The object under a key; an empty one if it is absent.
    pub fn within(self: Attributes, key: []const u8) Attributes {
        return .{ .object = self.object.get(key) orelse .{ .object = &.{} }, .fault = self.fault, .arena = self.arena };
    }

    fn find(self: Attributes, key: []const u8) Error!json.Value {
        return self.object.get(key) orelse self.bad(key, "given");
    }

    pub fn float(self: Attributes, key: []const u8) Error!f64 {
        const value = try self.find(key);
        return if (value == .number) value.number else self.bad(key, "a number");
    }

    pub fn integer(self: Attributes, key: []const u8) Error!i64 {
        return (try self.find(key)).integer() orelse self.bad(key, "a whole number");
    }

    pub fn flag(self: Attributes, key: []const u8) Error!bool {
        const value = try self.find(key);
        return if (value == .boolean) value.boolean else self.bad(key, "true or false");
    }

    /// Whole numbers, as shapes and strides are.
    pub fn sizes(self: Attributes, key: []const u8) Error![]const i64 {
        return self.list(i64, key);
    }

    /// Whole numbers, as ids, rows and positions are.
    pub fn numbers(self: Attributes, key: []const u8) Error![]const i32 {
        return self.list(i32, key);
    }

    fn list(self: Attributes, comptime T: type, key: []const u8) Error![]const T {
        const value = try self.find(key);
        if (value != .array) return self.bad(key, "a list of whole numbers");
        const out = try self.arena.alloc(T, value.array.len);
        for (out, value.array) |*item, each| {
            const number = each.integer() orelse return self.bad(key, "a list of whole numbers");
            item.* = std.math.cast(T, number) orelse return self.bad(key, "a list of 32-bit numbers");
        }
        return out;
    }
};
