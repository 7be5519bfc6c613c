//! The `load` request: every tensor of a model, with the digest of its widened values. Separate because it
//! keeps nothing: one tensor at a time lies on the device.

const std = @import("std");
const hexapla = @import("hexapla");
const model = @import("model.zig");
const names = @import("names.zig");
const Call = @import("call.zig").Call;
const Config = @import("config.zig").Config;
const Error = @import("fault.zig").Error;

const Totals = struct { tensors: u64 = 0, parameters: u64 = 0 };

pub fn request(call: *Call) Error!void {
    const fields = try call.fields(&.{ "context", "model" });
    const chosen = try call.context(fields);
    const folder = try fields.path("model");
    const config = try Config.read(call.arena, call.io, folder, call.fault);
    const totals = blk: {
        const context = try chosen.open(call.fault);
        defer context.deinit();
        break :blk try report(call, folder, config, context);
    };
    call.events.send("done", .{ .tensors = totals.tensors, .parameters = totals.parameters });
}

fn report(call: *Call, folder: [:0]const u8, config: Config, context: hexapla.Context) Error!Totals {
    const d = call.fault.d();
    call.fault.at("{s}", .{folder});
    const file = try hexapla.Checkpoint.open(folder, d);
    defer file.deinit();
    const expected = try model.expectedTensors(call.arena, config);
    _ = try names.locate(call.arena, file, expected, model.optionalName(config), folder, call.fault);
    if (config.tied) {
        const index = try file.find(model.embedding_name, d);
        const embedding = try file.read(index, context, d);
        defer embedding.deinit();
        try model.checkTiedHead(file, embedding, context, folder, call.fault);
    }
    var totals: Totals = .{};
    for (0..try file.count(d)) |index| {
        const entry = try file.describe(index, d);
        if (config.tied and std.mem.eql(u8, entry.name(), model.head_name)) continue;
        call.fault.at("tensor {s}", .{entry.name()});
        const tensor = try file.read(index, context, d);
        defer tensor.deinit();
        call.events.send("tensor", .{
            .name = @as([]const u8, entry.name()),
            .shape = entry.shape(),
            .dtype = entry.dtype(),
            .digest = try hexapla.digest(&.{tensor}, d),
        });
        totals.tensors += 1;
        totals.parameters += entry.raw.elements;
    }
    return totals;
}
