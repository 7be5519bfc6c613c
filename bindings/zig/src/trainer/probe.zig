//! The `probe` request, and what its scenarios share. Separate from the scenarios, which lie in a file an
//! axis; docs/probes.md says step by step what each does.

const std = @import("std");
const hexapla = @import("hexapla");
const json = @import("json.zig");
const errors = @import("probe_errors.zig");
const memory = @import("probe_memory.zig");
const ownership = @import("probe_ownership.zig");
const threads = @import("probe_threads.zig");
const train = @import("train.zig");
const Call = @import("call.zig").Call;
const ContextRequest = @import("request.zig").ContextRequest;
const Error = @import("fault.zig").Error;
const Fields = @import("request.zig").Fields;

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
    const chosen = try call.context(fields);
    var probe: Probe = .{ .call = call, .chosen = chosen, .parameters = fields.raw("parameters"), .scenario = scenario };
    switch (scenario) {
        .device_of_context => try threads.deviceOfContext(&probe),
        .error_text => try threads.errorText(&probe),
        .two_contexts => try threads.twoContexts(&probe),
        .drop_in_loop => try memory.dropInLoop(&probe),
        .caught_errors => try memory.caughtErrors(&probe),
        .scope => try memory.scope(&probe),
        .fail_allocation => try memory.failAllocation(&probe),
        .accessors => try ownership.accessors(&probe),
        .copies => try ownership.copies(&probe),
        .drop_orders => try ownership.dropOrders(&probe),
        .double_release => try ownership.doubleRelease(&probe),
        .use_after_release => try ownership.useAfterRelease(&probe),
        .release_elsewhere => try ownership.releaseElsewhere(&probe),
        .close_race => try ownership.closeRace(&probe),
        .status => try errors.status(&probe),
        .callback_throws => try errors.callbackThrows(&probe),
        .write_fails => try errors.writeFails(&probe),
        .cycles, .finaliser_race => unreachable,
    }
    call.events.send("done", .{});
}

/// A scenario being played: its request, and what it needs again and again.
pub const Probe = struct {
    call: *Call,
    chosen: ContextRequest,
    parameters: json.Value,
    scenario: Scenario,

    pub fn fields(self: *const Probe, keys: []const []const u8) Error!Fields {
        return Fields.init(self.parameters, keys, "parameters", "request", self.call.fault, self.call.arena);
    }

    /// A context as the request says.
    pub fn context(self: *const Probe) Error!hexapla.Context {
        return self.chosen.open(self.call.fault);
    }

    /// The train request in the parameters.
    pub fn order(self: *const Probe, from: Fields) Error!train.Order {
        const inner = try Fields.init(from.raw("train"), &train.keys, "train", "request", self.call.fault, self.call.arena);
        return train.Order.parse(inner);
    }

    /// Send what was seen. Everything that the scenario made is released by then.
    pub fn send(self: *const Probe, seen: anytype) void {
        self.call.events.send("probe", .{ .scenario = self.scenario, .seen = seen });
    }
};

/// Distinct statuses in order of first appearance.
pub const Statuses = struct {
    seen: [16]hexapla.Status = undefined,
    count: usize = 0,

    /// Add what a call of the core ended in.
    pub fn add(self: *Statuses, result: hexapla.Error!void, diagnostics: *const hexapla.Diagnostics) void {
        const status = statusOf(result, diagnostics);
        if (std.mem.findScalar(hexapla.Status, self.seen[0..self.count], status) != null) return;
        self.seen[self.count] = status;
        self.count += 1;
    }

    /// Names, comma-separated.
    pub fn text(self: *const Statuses, arena: std.mem.Allocator) Error![]const u8 {
        var names: std.ArrayList(u8) = .empty;
        for (self.seen[0..self.count], 0..) |status, i|
            try names.print(arena, "{s}{s}", .{ if (i == 0) "" else ",", status.name() });
        return names.items;
    }
};

/// The status that a call of the core ended in.
pub fn statusOf(result: hexapla.Error!void, diagnostics: *const hexapla.Diagnostics) hexapla.Status {
    return if (result) |_| .ok else |_| diagnostics.status();
}

/// The difference with the larger magnitude.
pub fn larger(a: i64, b: i64) i64 {
    return if (@abs(b) > @abs(a)) b else a;
}
