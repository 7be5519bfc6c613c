//! Rendering: a record's ids and labels by the specification's template, and a whole file of them. Separate
//! because text becomes tokens nowhere else. It orders and batches nothing.

const std = @import("std");
const hexapla = @import("hexapla");
const Fault = @import("fault.zig").Fault;
const Error = @import("fault.zig").Error;
const Record = @import("records.zig").Record;
const Reader = @import("records.zig").Reader;
const Template = @import("spec.zig").Template;

/// Why a record is left out, in the order in which reasons apply.
pub const Reason = enum { think, empty, joined, no_label };
/// Records left out, by reason; as JSON, reasons without a record are absent.
pub const Rejected = struct {
    counts: [4]u64 = @splat(0),

    pub fn add(self: *Rejected, other: Rejected) void {
        for (&self.counts, other.counts) |*count, more| count.* += more;
    }

    pub fn total(self: Rejected) u64 {
        var sum: u64 = 0;
        for (self.counts) |count| sum += count;
        return sum;
    }

    pub fn jsonStringify(self: Rejected, writer: *std.json.Stringify) !void {
        try writer.beginObject();
        for (self.counts, 0..) |count, i| {
            if (count == 0) continue;
            try writer.objectField(@tagName(@as(Reason, @fromBackingInt(@intCast(i)))));
            try writer.write(count);
        }
        try writer.endObject();
    }
};

/// An accepted record, cut to the specification's length: one label (0 or 1) an id.
pub const Example = struct {
    ids: []const i32,
    labels: []const u8,
    /// How many labels are 1.
    flagged: usize,
};

pub const Rendered = union(enum) { accepted: Example, rejected: Reason };

/// A tokenizer and what a template needs of it.
pub const Renderer = struct {
    allocator: std.mem.Allocator,
    tokenizer: hexapla.Tokenizer,
    template: Template,
    length: usize,
    fault: *Fault,
    start: i32,
    end: i32,
    think: i32 = 0,
    think_end: i32 = 0,
    newline: std.ArrayList(i32) = .empty,
    /// The answer's piece before the answer, as text and as ids.
    prefix: []const u8,
    prefix_ids: std.ArrayList(i32) = .empty,
    ids: std.ArrayList(i32) = .empty,
    text: std.ArrayList(u8) = .empty,
    markers: std.ArrayList([]const u8) = .empty,

    pub fn open(
        allocator: std.mem.Allocator,
        folder: [:0]const u8,
        template: Template,
        length: usize,
        fault: *Fault,
    ) Error!Renderer {
        fault.at("{s}", .{folder});
        const tokenizer = try hexapla.Tokenizer.open(folder, fault.d());
        var self: Renderer = .{
            .allocator = allocator,
            .tokenizer = tokenizer,
            .template = template,
            .length = length,
            .fault = fault,
            .start = 0,
            .end = 0,
            .prefix = if (template == .qwen3) "\n\n" else "assistant\n",
        };
        errdefer self.close();
        self.start = try self.special("<|im_start|>");
        self.end = try self.special("<|im_end|>");
        if (template == .qwen3) {
            self.think = try self.special("<think>");
            self.think_end = try self.special("</think>");
        }
        try self.encode("\n", &self.newline);
        try self.encode(self.prefix, &self.prefix_ids);
        for (0..try tokenizer.addedCount(fault.d())) |i| {
            const token = try tokenizer.added(i, fault.d());
            if (token.text.len > 0) try self.markers.append(allocator, token.text);
        }
        return self;
    }

    pub fn close(self: *Renderer) void {
        self.newline.deinit(self.allocator);
        self.prefix_ids.deinit(self.allocator);
        self.ids.deinit(self.allocator);
        self.text.deinit(self.allocator);
        self.markers.deinit(self.allocator);
        self.tokenizer.deinit();
    }

    fn special(self: *Renderer, text: [:0]const u8) Error!i32 {
        return self.tokenizer.tokenId(text, self.fault.d()) catch |err| switch (err) {
            error.NotFound => self.fault.fail("tokenizer", text, "the tokenizer has no added token {s}", .{text}),
            else => err,
        };
    }

    fn encode(self: *Renderer, text: []const u8, out: *std.ArrayList(i32)) Error!void {
        return self.tokenizer.encode(self.allocator, text, out, self.fault.d());
    }

    /// `<|im_start|>` E(role + "\n" + text) `<|im_end|>` E("\n").
    fn turn(self: *Renderer, role: []const u8, text: []const u8) Error!void {
        try self.ids.append(self.allocator, self.start);
        try self.joined(role, text);
        try self.ids.append(self.allocator, self.end);
        try self.ids.appendSlice(self.allocator, self.newline.items);
    }

    /// E(first + second).
    fn joined(self: *Renderer, first: []const u8, second: []const u8) Error!void {
        self.text.clearRetainingCapacity();
        try self.text.appendSlice(self.allocator, first);
        try self.text.appendSlice(self.allocator, second);
        try self.encode(self.text.items, &self.ids);
    }

    /// Render one record; an accepted one lies in memory of `keep`.
    pub fn render(self: *Renderer, record: Record, keep: std.mem.Allocator) Error!Rendered {
        if (std.mem.find(u8, record.answer, "</think>") != null) return .{ .rejected = .think };
        const answer = std.mem.trimStart(u8, record.answer, "\n");
        if (answer.len == 0) return .{ .rejected = .empty };
        self.ids.clearRetainingCapacity();
        if (record.system) |system| try self.turn("system\n", system);
        try self.turn("user\n", record.question);
        try self.ids.append(self.allocator, self.start);
        if (self.template == .qwen3) {
            try self.encode("assistant\n", &self.ids);
            try self.ids.append(self.allocator, self.think);
            try self.encode("\n\n", &self.ids);
            try self.ids.append(self.allocator, self.think_end);
        }
        const piece = self.ids.items.len;
        try self.joined(self.prefix, answer);
        if (!std.mem.startsWith(i32, self.ids.items[piece..], self.prefix_ids.items)) return .{ .rejected = .joined };
        const first = piece + self.prefix_ids.items.len;
        try self.ids.append(self.allocator, self.end);
        const behind = self.ids.items.len;
        try self.ids.appendSlice(self.allocator, self.newline.items);
        return self.cut(first, behind, keep);
    }

    /// Cut to the length; ids from `first` to before `behind` are flagged.
    fn cut(self: *Renderer, first: usize, behind: usize, keep: std.mem.Allocator) Error!Rendered {
        const length = @min(self.ids.items.len, self.length);
        if (first >= length) return .{ .rejected = .no_label };
        const ids = try keep.dupe(i32, self.ids.items[0..length]);
        const labels = try keep.alloc(u8, length);
        const last = @min(behind, length);
        @memset(labels, 0);
        @memset(labels[first..last], 1);
        return .{ .accepted = .{ .ids = ids, .labels = labels, .flagged = last - first } };
    }

    /// Whether a record's raw texts contain the text of any added token.
    pub fn marked(self: *const Renderer, record: Record) bool {
        for (self.markers.items) |marker| {
            for ([_][]const u8{ record.system orelse "", record.question, record.answer }) |text| {
                if (std.mem.find(u8, text, marker) != null) return true;
            }
        }
        return false;
    }
};

/// A rendered file.
pub const Dataset = struct {
    examples: []const Example,
    rejected: Rejected,
    markers: u64,
};

/// Render a whole file into memory of `keep`. A file without an accepted record is refused.
pub fn dataset(renderer: *Renderer, io: std.Io, path: []const u8, keep: std.mem.Allocator) Error!Dataset {
    var reader = try Reader.open(renderer.allocator, io, path, renderer.fault);
    defer reader.close();
    var examples: std.ArrayList(Example) = .empty;
    var result: Dataset = .{ .examples = &.{}, .rejected = .{}, .markers = 0 };
    while (try reader.next()) |record| {
        if (renderer.marked(record)) result.markers += 1;
        renderer.fault.at("{s}:{d}", .{ path, reader.line });
        switch (try renderer.render(record, keep)) {
            .accepted => |example| try examples.append(keep, example),
            .rejected => |reason| result.rejected.counts[@backingInt(reason)] += 1,
        }
    }
    if (examples.items.len == 0)
        return renderer.fault.fail("record", path, "no record of {d} was accepted", .{reader.line});
    result.examples = examples.items;
    return result;
}
