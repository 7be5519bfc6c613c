//! The `abi` request: structs, handle aliases and constants of the headers as this compiler lays them out.
//! Separate because it is made from sys.zig's declarations alone.

const std = @import("std");
const hexapla = @import("hexapla");
const Call = @import("call.zig").Call;
const Error = @import("fault.zig").Error;
const Stringify = std.json.Stringify;

const Types = struct {
    pub fn jsonStringify(_: Types, writer: *Stringify) !void {
        try writer.beginObject();
        for (hexapla.testing.types) |each| {
            try writer.objectField(each.name);
            try writer.write(.{ .size = each.size, .@"align" = each.alignment, .fields = Layout{ .fields = each.fields } });
        }
        try writer.endObject();
    }
};

const Layout = struct {
    fields: []const hexapla.testing.Field,

    pub fn jsonStringify(self: Layout, writer: *Stringify) !void {
        try writer.beginObject();
        for (self.fields) |field| {
            try writer.objectField(field.name);
            try writer.write([2]usize{ field.offset, field.size });
        }
        try writer.endObject();
    }
};

const Constants = struct {
    pub fn jsonStringify(_: Constants, writer: *Stringify) !void {
        try writer.beginObject();
        for (hexapla.testing.constants) |each| {
            try writer.objectField(each.name);
            try writer.write(each.value);
        }
        try writer.endObject();
    }
};

pub fn request(call: *Call) Error!void {
    _ = try call.fields(&.{});
    call.events.send("abi", .{ .abi_version = hexapla.abiVersion(), .types = Types{}, .constants = Constants{} });
    call.events.send("done", .{});
}
