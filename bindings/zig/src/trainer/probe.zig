//! The `probe` request. Separate from the scenarios, which lie in a file an axis.

const std = @import("std");
const Call = @import("call.zig").Call;
const Error = @import("fault.zig").Error;

pub const Scenario = enum {
    device_of_context,
    error_text,
    two_contexts,
    drop_in_loop,
    cycles,
    caught_errors,
    scope,
    accessors,
    copies,
    drop_orders,
    double_release,
    use_after_release,
    release_elsewhere,
    close_race,
    finaliser_race,
    status,
    callback_throws,
    fail_allocation,
    write_fails,

    /// Why Zig cannot play it; null if it can.
    pub fn impossible(scenario: Scenario) ?[]const u8 {
        return switch (scenario) {
            .cycles => "Zig has no tracing collector",
            .finaliser_race => "Zig has no finalisers",
            else => null,
        };
    }
};

pub fn request(call: *Call) Error!void {
    const fields = try call.fields(&.{ "context", "scenario", "parameters" });
    const name = try fields.string("scenario");
    const scenario = std.meta.stringToEnum(Scenario, name) orelse {
        call.events.send("skipped", .{ .reason = "this trainer does not know the scenario" });
        return;
    };
    if (scenario.impossible()) |reason| {
        call.events.send("skipped", .{ .reason = reason });
        return;
    }
    _ = try call.context(fields);
    call.events.send("skipped", .{ .reason = "later" });
}
