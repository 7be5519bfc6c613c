//! What the language forbids or hides, for the `probe` scenarios and the `abi` request only: calls with ids
//! of the wrong kind, and the layouts of the C structs as this compiler sees them. Separate so that no
//! program reaches for it by accident. It must not be used to train.

const std = @import("std");
const sys = @import("sys.zig");
const diag = @import("safe/diagnostics.zig");
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// Ask for the device of any id, a context's or not.
pub fn contextDevice(id: u64, diagnostics: ?*Diagnostics) Error!void {
    var buffer: [32]u8 = undefined;
    return diag.check(sys.hxp_context_device(id, &buffer, buffer.len, diag.raw(diagnostics)), diagnostics);
}

/// One field of a struct, in bytes.
pub const Field = struct { name: [:0]const u8, offset: usize, size: usize };

/// One type of the headers, as this compiler lays it out. Handle aliases have no fields.
pub const TypeLayout = struct { name: [:0]const u8, size: usize, alignment: usize, fields: []const Field };

/// One constant of the headers.
pub const Constant = struct { name: [:0]const u8, value: i64 };

/// Every struct and handle alias that sys.zig declares.
pub const types: []const TypeLayout = blk: {
    @setEvalBranchQuota(20_000);
    var list: []const TypeLayout = &.{};
    for (@typeInfo(sys).@"struct".decl_names) |name| {
        if (!std.mem.startsWith(u8, name, "hxp_") or @TypeOf(@field(sys, name)) != type) continue;
        const T = @field(sys, name);
        list = list ++ &[_]TypeLayout{.{
            .name = name,
            .size = @sizeOf(T),
            .alignment = @alignOf(T),
            .fields = fieldsOf(T),
        }};
    }
    break :blk list;
};

/// Every constant that sys.zig declares.
pub const constants: []const Constant = blk: {
    @setEvalBranchQuota(20_000);
    var list: []const Constant = &.{};
    for (@typeInfo(sys).@"struct".decl_names) |name| {
        if (!std.mem.startsWith(u8, name, "HXP_")) continue;
        list = list ++ &[_]Constant{.{ .name = name, .value = @field(sys, name) }};
    }
    break :blk list;
};

fn fieldsOf(comptime T: type) []const Field {
    if (@typeInfo(T) != .@"struct") return &.{};
    const info = @typeInfo(T).@"struct";
    var fields: []const Field = &.{};
    for (info.field_names, info.field_types) |name, FieldType| {
        fields = fields ++ &[_]Field{.{ .name = name, .offset = @offsetOf(T, name), .size = @sizeOf(FieldType) }};
    }
    return fields;
}
