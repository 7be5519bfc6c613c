//! Reading a request's keys: each is required, none is unknown, and each has its type. Separate so that every
//! request refuses bad input in the same words. It plays no request.

const std = @import("std");
const hexapla = @import("hexapla");
const json = @import("json.zig");
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;

/// An object whose keys have been checked, and the status that a bad value of it goes out with.
pub const Fields = struct {
    object: json.Value,
    fault: *Fault,
    arena: std.mem.Allocator,
    status: []const u8 = "request",

    /// Check that `value` is an object with exactly these keys.
    pub fn init(
        value: json.Value,
        keys: []const []const u8,
        where: []const u8,
        status: []const u8,
        fault: *Fault,
        arena: std.mem.Allocator,
    ) Error!Fields {
        if (value != .object) return fault.fail(status, where, "{s} must be an object", .{where});
        for (value.object) |member| {
            for (keys) |key| {
                if (std.mem.eql(u8, key, member.key)) break;
            } else return fault.fail(status, member.key, "unknown key {s} in {s}", .{ member.key, where });
        }
        for (keys) |key| {
            if (value.get(key) == null) return fault.fail(status, key, "key {s} is missing in {s}", .{ key, where });
        }
        return .{ .object = value, .fault = fault, .arena = arena, .status = status };
    }

    pub fn raw(self: Fields, key: []const u8) json.Value {
        return self.object.get(key).?;
    }

    pub fn bad(self: Fields, key: []const u8, must: []const u8) error{Failed} {
        return self.fault.fail(self.status, key, "{s} must be {s}", .{ key, must });
    }

    pub fn string(self: Fields, key: []const u8) Error![]const u8 {
        return switch (self.raw(key)) {
            .string => |value| value,
            else => self.bad(key, "a string"),
        };
    }

    pub fn boolean(self: Fields, key: []const u8) Error!bool {
        return switch (self.raw(key)) {
            .boolean => |flag| flag,
            else => self.bad(key, "true or false"),
        };
    }

    /// A finite number.
    pub fn float(self: Fields, key: []const u8) Error!f64 {
        return switch (self.raw(key)) {
            .number => |number| number,
            else => self.bad(key, "a number"),
        };
    }

    /// A whole number from `least` to `most`.
    pub fn integer(self: Fields, key: []const u8, least: i64, most: i64) Error!i64 {
        const number = self.raw(key).integer() orelse return self.bad(key, "a whole number");
        if (number < least or number > most)
            return self.fault.fail(self.status, key, "{s} is {d}, must be from {d} to {d}", .{ key, number, least, most });
        return number;
    }

    /// An absolute path, ended by a zero byte for the core.
    pub fn path(self: Fields, key: []const u8) Error![:0]const u8 {
        const value = try self.string(key);
        if (!std.mem.startsWith(u8, value, "/") or std.mem.findScalar(u8, value, 0) != null)
            return self.bad(key, "an absolute path");
        return self.arena.dupeSentinel(u8, value, 0);
    }

    pub fn optionalPath(self: Fields, key: []const u8) Error!?[:0]const u8 {
        return if (self.raw(key) == .null) null else try self.path(key);
    }

    /// A string that core reads as C text.
    pub fn text(self: Fields, key: []const u8) Error![:0]const u8 {
        const value = try self.string(key);
        if (std.mem.findScalar(u8, value, 0) != null) return self.bad(key, "a text without U+0000");
        return self.arena.dupeSentinel(u8, value, 0);
    }
};

/// A request's `context`: how each context of it is made.
pub const ContextRequest = struct {
    device: [:0]const u8,
    options: hexapla.Options,

    pub fn init(value: json.Value, fault: *Fault, arena: std.mem.Allocator) Error!ContextRequest {
        const keys = [_][]const u8{ "device", "threads", "memory_limit", "spill", "ledger" };
        const fields = try Fields.init(value, &keys, "context", "request", fault, arena);
        return .{
            .device = try fields.text("device"),
            .options = .{
                .threads = @intCast(try fields.integer("threads", 1, std.math.maxInt(u32))),
                .memory_limit = @intCast(try fields.integer("memory_limit", 0, std.math.maxInt(i64))),
                .spill = try fields.boolean("spill"),
                .ledger = try fields.optionalPath("ledger"),
            },
        };
    }

    pub fn open(self: ContextRequest, fault: *Fault) Error!hexapla.Context {
        fault.at("context {s}", .{self.device});
        return hexapla.Context.init(self.device, self.options, fault.d());
    }
};
