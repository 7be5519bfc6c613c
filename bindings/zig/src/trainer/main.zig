//! The trainer: requests on stdin, events on stdout. Separate from the requests, which it starts one after
//! another; it keeps nothing of one for the next but the exit status.

const std = @import("std");
const builtin = @import("builtin");
const hexapla = @import("hexapla");
const json = @import("json.zig");
const fault_file = @import("fault.zig");
const probe = @import("probe.zig");
const render = @import("render.zig");
const Call = @import("call.zig").Call;
const Error = fault_file.Error;
const Events = @import("events.zig").Events;
const Fault = fault_file.Fault;
const Input = @import("input.zig").Input;
const Records = @import("records.zig").Reader;
const Text = @import("events.zig").Text;

const Request = enum { hello, abi, operators, load, render, evaluate, train, probe, bye };

/// Exit statuses; a larger one wins.
const request_failed: u8 = 1;
const request_unreadable: u8 = 2;
const handles_left: u8 = 3;

pub fn main(init: std.process.Init) !u8 {
    try hexapla.checkAbi();
    var buffer: [64 << 10]u8 = undefined;
    var stdout: std.Io.File.Writer = .initStreaming(.stdout(), init.io, &buffer);
    var input: Input = .{ .allocator = init.gpa, .descriptor = std.posix.STDIN_FILENO };
    defer input.deinit();
    var trainer: Trainer = .{ .allocator = init.gpa, .io = init.io, .out = &stdout.interface, .input = &input };
    while (try input.next()) |line| {
        if (try trainer.line(line)) |id| return trainer.bye(id);
    }
    return trainer.bye("");
}

const Trainer = struct {
    allocator: std.mem.Allocator,
    io: std.Io,
    out: *std.Io.Writer,
    input: *Input,
    status: u8 = 0,
    fault: Fault = .{},
    bye_id: [1024]u8 = undefined,

    /// Play one line; the id of a `bye`.
    fn line(self: *Trainer, read: @import("input.zig").Line) !?[]const u8 {
        var arena: std.heap.ArenaAllocator = .init(self.allocator);
        defer arena.deinit();
        const text = switch (read) {
            .text => |text| try arena.allocator().dupe(u8, text),
            .too_long => return self.unreadable("a line past 16 MiB"),
        };
        var problem: []const u8 = "";
        const message = json.parse(arena.allocator(), text, &problem) catch |err| switch (err) {
            error.Malformed => return self.unreadable(problem),
            error.OutOfMemory => return err,
        };
        const id = message.get("id") orelse return self.unreadable("a request without id");
        if (id != .string) return self.unreadable("an id that is no string");
        var call: Call = .{
            .message = message,
            .events = .{ .out = self.out, .id = id.string },
            .fault = &self.fault,
            .allocator = self.allocator,
            .arena = arena.allocator(),
            .io = self.io,
            .input = self.input,
        };
        self.fault.diagnostics.clear();
        self.fault.at("{s}", .{"request"});
        const ended = self.play(&call) catch |err| {
            self.failed(call.events, err);
            return null;
        };
        if (!ended) return null;
        const length = @min(id.string.len, self.bye_id.len);
        @memcpy(self.bye_id[0..length], id.string[0..length]);
        return self.bye_id[0..length];
    }

    /// Whether the request was `bye`.
    fn play(self: *Trainer, call: *Call) Error!bool {
        const protocol = call.message.get("protocol") orelse return self.fault.fail(
            "request",
            "protocol",
            "protocol is missing",
            .{},
        );
        if (protocol.integer() != 1) return self.fault.fail("request", "protocol", "this trainer speaks protocol 1", .{});
        const name = call.message.get("request") orelse return self.fault.fail("request", "request", "request is missing", .{});
        if (name != .string) return self.fault.fail("request", "request", "request must be a string", .{});
        const request = std.meta.stringToEnum(Request, name.string) orelse {
            call.events.send("skipped", .{ .reason = "this trainer does not know the request" });
            return false;
        };
        switch (request) {
            .hello => try hello(call),
            .abi => try @import("abi.zig").request(call),
            .operators => try @import("operators.zig").request(call),
            .load => try @import("load.zig").request(call),
            .render => try renderFile(call),
            .evaluate => try @import("evaluate.zig").request(call),
            .train => try @import("train.zig").request(call),
            .probe => try probe.request(call),
            .bye => _ = try call.fields(&.{}),
        }
        return request == .bye;
    }

    fn failed(self: *Trainer, events: Events, err: Error) void {
        self.status = @max(self.status, request_failed);
        events.send("error", .{
            .status = fault_file.statusOf(&self.fault, err),
            .message = Text{ .bytes = fault_file.messageOf(&self.fault, err) },
            .where = Text{ .bytes = self.fault.where() },
        });
    }

    fn unreadable(self: *Trainer, problem: []const u8) ?[]const u8 {
        self.status = @max(self.status, request_unreadable);
        var where: [40]u8 = undefined;
        const events: Events = .{ .out = self.out, .id = "" };
        events.send("error", .{
            .status = "request",
            .message = problem,
            .where = std.fmt.bufPrint(&where, "stdin:{d}", .{self.input.number}) catch unreachable,
        });
        return null;
    }

    fn bye(self: *Trainer, id: []const u8) !u8 {
        const memory = try hexapla.processMemory(null);
        const events: Events = .{ .out = self.out, .id = id };
        events.send("bye", .{ .handles_live = memory.live_handles, .bytes_live = memory.live_bytes });
        return if (memory.live_handles != 0) handles_left else self.status;
    }
};

fn hello(call: *Call) Error!void {
    _ = try call.fields(&.{});
    var faults: std.ArrayList([]const u8) = .empty;
    var names = std.mem.tokenizeScalar(u8, hexapla.buildFaults(), ',');
    while (names.next()) |name| try faults.append(call.arena, name);
    var capabilities: std.ArrayList([]const u8) = .empty;
    for (std.enums.values(Request)) |request| try capabilities.append(call.arena, @tagName(request));
    for (std.enums.values(probe.Scenario)) |scenario| {
        if (scenario.impossible() == null)
            try capabilities.append(call.arena, try std.fmt.allocPrint(call.arena, "probe.{t}", .{scenario}));
    }
    const others = [_][]const u8{ "migrating", "collector", "spill", "memory_limit", "ledger" };
    try capabilities.appendSlice(call.arena, &others);
    call.events.send("hello", .{
        .protocol = 1,
        .implementation = "zig",
        .language = "Zig",
        .runtime = std.fmt.comptimePrint("zig {s} {t}", .{ builtin.zig_version_string, builtin.mode }),
        .stack = "core",
        .core = @as([]const u8, hexapla.buildInfo()),
        .faults = faults.items,
        .capabilities = capabilities.items,
    });
    call.events.send("done", .{});
}

/// The `render` request.
fn renderFile(call: *Call) Error!void {
    const fields = try call.fields(&.{ "tokenizer", "records", "template", "length" });
    const path = try fields.path("records");
    const name = try fields.string("template");
    const template = std.meta.stringToEnum(@import("spec.zig").Template, name) orelse
        return call.fault.fail("request", "template", "template is {s}, which is not known", .{name});
    const length: usize = @intCast(try fields.integer("length", 1, (1 << 53) - 1));
    var renderer = try render.Renderer.open(call.allocator, try fields.path("tokenizer"), template, length, call.fault);
    defer renderer.close();
    var reader = try Records.open(call.allocator, call.io, path, call.fault);
    defer reader.close();
    var rejected: render.Rejected = .{};
    var accepted: u64 = 0;
    var markers: u64 = 0;
    var keep: std.heap.ArenaAllocator = .init(call.allocator);
    defer keep.deinit();
    while (try reader.next()) |record| {
        _ = keep.reset(.retain_capacity);
        if (renderer.marked(record)) markers += 1;
        call.fault.at("{s}:{d}", .{ path, reader.line });
        switch (try renderer.render(record, keep.allocator())) {
            .accepted => |example| {
                accepted += 1;
                const labels = try keep.allocator().alloc(u8, example.labels.len);
                for (labels, example.labels) |*digit, label| digit.* = '0' + label;
                call.events.send("record", .{ .record = record.id, .ids = example.ids, .labels = labels });
            },
            .rejected => |reason| {
                rejected.counts[@backingInt(reason)] += 1;
                call.events.send("record", .{ .record = record.id, .rejected = reason });
            },
        }
    }
    if (accepted == 0) return call.fault.fail("record", path, "no record of {d} was accepted", .{reader.line});
    call.events.send("done", .{ .accepted = accepted, .rejected = rejected, .markers = markers });
}

test {
    _ = @import("json.zig");
    _ = @import("fault.zig");
    _ = @import("events.zig");
    _ = @import("order.zig");
    _ = @import("spec.zig");
    _ = @import("batch.zig");
    _ = @import("probe_threads.zig");
}
