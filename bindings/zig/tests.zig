//! Tests of the safe layer, through its public face alone. Every test ends with as many live handles and bytes
//! as it began with, and std.testing.allocator finds no leak.

const std = @import("std");
const hexapla = @import("hexapla");
const example = @import("example.zig");
const testing = std.testing;
const ops = hexapla.ops;
const Context = hexapla.Context;
const Diagnostics = hexapla.Diagnostics;
const Tape = hexapla.Tape;
const Tensor = hexapla.Tensor;

/// What the process held when a test began.
const Balance = struct {
    before: hexapla.Memory,

    fn init() !Balance {
        return .{ .before = try hexapla.processMemory(null) };
    }

    fn check(self: Balance) void {
        const after = hexapla.processMemory(null) catch unreachable;
        if (after.live_handles != self.before.live_handles or after.live_bytes != self.before.live_bytes)
            std.debug.panic("{d} handles and {d} bytes are left behind", .{
                after.live_handles - self.before.live_handles,
                after.live_bytes - self.before.live_bytes,
            });
    }
};

fn expectValues(expected: []const f32, tensor: Tensor) !void {
    const values = try tensor.readAlloc(testing.allocator, null);
    defer testing.allocator.free(values);
    try testing.expectEqualSlices(f32, expected, values);
}

test "every declaration of the library compiles" {
    inline for (.{ hexapla, hexapla.ops, hexapla.optimizer, hexapla.checkpoint, hexapla.testing }) |part| testing.refAllDecls(
        part,
    );
    inline for (.{ Context, Tensor, Tape, hexapla.Checkpoint, hexapla.Tokenizer, hexapla.Gate }) |part| testing.refAllDecls(part);
    try hexapla.checkAbi();
}

test "the README's example" {
    const balance: Balance = try .init();
    defer balance.check();
    var diagnostics: Diagnostics = .{};
    const gradient = try example.gradientOfSquares(testing.allocator, &diagnostics);
    defer testing.allocator.free(gradient);
    try testing.expectEqualSlices(f32, &.{ 2, 4, 6 }, gradient);
}

test "owners share values, and each releases its own share" {
    const balance: Balance = try .init();
    defer balance.check();
    const context: Context = try .init("cpu:0", .{}, null);
    defer context.deinit();
    const first = try Tensor.fromSlice(context, &.{4}, &.{ 1, 2, 3, 4 }, null);
    const second = try first.retain(null);
    defer second.deinit();
    try testing.expect(first.id != second.id);
    try first.addInPlace(1, null);
    first.deinit();
    try expectValues(&.{ 2, 3, 4, 5 }, second);
}

test "a tensor outlives the context's own share" {
    const balance: Balance = try .init();
    defer balance.check();
    const context: Context = try .init("cpu:1", .{}, null);
    const tensor = try Tensor.init(context, &.{ 2, 3 }, null);
    defer tensor.deinit();
    context.deinit();
    var name: [32]u8 = undefined;
    try testing.expectEqualStrings("cpu:1", try tensor.device(&name, null));
    const info = try tensor.describe(null);
    try testing.expectEqualSlices(i64, &.{ 2, 3 }, info.shape());
    try testing.expectEqualSlices(i64, &.{ 3, 1 }, info.strides());
}

test "a released handle is stale, never somebody else's" {
    const balance: Balance = try .init();
    defer balance.check();
    const context: Context = try .init("cpu:0", .{}, null);
    defer context.deinit();
    var diagnostics: Diagnostics = .{};
    const tensor = try Tensor.init(context, &.{1}, null);
    try tensor.release(&diagnostics);
    const other = try Tensor.init(context, &.{1}, null);
    defer other.deinit();
    try testing.expectError(error.StaleHandle, tensor.release(&diagnostics));
    try testing.expectEqual(.stale_handle, diagnostics.status());
    try testing.expectError(error.WrongKind, hexapla.testing.contextDevice(other.id, &diagnostics));
    try expectValues(&.{0}, other);
}

test "an error carries the core's own text, a success leaves it" {
    const context: Context = try .init("cpu:0", .{}, null);
    defer context.deinit();
    var diagnostics: Diagnostics = .{};
    try testing.expectEqualStrings("", diagnostics.message());
    try testing.expectError(error.InvalidArgument, Tensor.init(context, &.{-7}, &diagnostics));
    try testing.expect(std.mem.find(u8, diagnostics.message(), "-7") != null);
    try testing.expectEqualStrings("HXP_INVALID_ARGUMENT", diagnostics.status().name());
    try testing.expectError(error.Unsupported, Tensor.initDtype(context, .f16, &.{1}, null));
    diagnostics.clear();
    try testing.expectEqual(.ok, diagnostics.status());
}

test "past the limit a context refuses and stays usable" {
    const balance: Balance = try .init();
    defer balance.check();
    const context: Context = try .init("cpu:0", .{ .memory_limit = 1 << 20 }, null);
    defer context.deinit();
    try testing.expectError(error.DeviceOutOfMemory, Tensor.init(context, &.{1 << 19}, null));
    const small = try Tensor.init(context, &.{256}, null);
    defer small.deinit();
    try testing.expectEqual(1024, (try context.memory(null)).live_bytes);
}

/// A hook that gives up what it keeps, once.
const Reserve = struct {
    kept: ?Tensor,
    told: hexapla.Pressure = undefined,

    fn call(payload: ?*anyopaque, pressure: hexapla.Pressure) anyerror!bool {
        const self: *Reserve = @ptrCast(@alignCast(payload.?));
        self.told = pressure;
        const tensor = self.kept orelse return error.NothingLeft;
        tensor.deinit();
        self.kept = null;
        return true;
    }
};

test "the pressure hook rescues an allocation; its own error surfaces from the call" {
    const balance: Balance = try .init();
    defer balance.check();
    var reserve: Reserve = .{ .kept = null };
    const hook: hexapla.PressureHook = .{ .payload = &reserve, .call = Reserve.call };
    const context: Context = try .init("cpu:0", .{ .memory_limit = 1 << 20, .pressure_hook = &hook }, null);
    defer context.deinit();
    reserve.kept = try Tensor.init(context, &.{200_000}, null);
    const rescued = try Tensor.init(context, &.{200_000}, null);
    defer rescued.deinit();
    try testing.expectEqual(hexapla.Pressure{ .need = 800_000, .live = 800_000, .limit = 1 << 20 }, reserve.told);
    var diagnostics: Diagnostics = .{};
    try testing.expectError(error.PressureHookFailed, Tensor.init(context, &.{200_000}, &diagnostics));
    try testing.expectEqual(.out_of_memory, diagnostics.status());
    try testing.expectEqual(error.NothingLeft, diagnostics.cause.?);
    try testing.expectError(error.DeviceOutOfMemory, overLimit());
}

/// A failure without a hook: nothing of an earlier hook's error may be left.
fn overLimit() !void {
    const context: Context = try .init("cpu:0", .{ .memory_limit = 8 }, null);
    defer context.deinit();
    const tensor = try Tensor.init(context, &.{4}, null);
    tensor.deinit();
}

test "gradients add up in the tensors given for them" {
    const balance: Balance = try .init();
    defer balance.check();
    const context: Context = try .init("cpu:0", .{}, null);
    defer context.deinit();
    const x = try Tensor.fromSlice(context, &.{2}, &.{ 1, -1 }, null);
    defer x.deinit();
    const gradient = try Tensor.init(context, &.{2}, null);
    defer gradient.deinit();
    const tape: Tape = try .init(context, null);
    defer tape.deinit();
    try tape.watch(x, gradient, null);
    for (0..2) |_| {
        const doubled = try ops.scale(tape, x, 2, null);
        defer doubled.deinit();
        try tape.backward(doubled, .none, null);
    }
    try expectValues(&.{ 4, 4 }, gradient);
    try testing.expectError(error.NoGradient, tape.backward(x, .none, null));
}

test "attention, embedding and cross-entropy take slices" {
    const balance: Balance = try .init();
    defer balance.check();
    const context: Context = try .init("cpu:0", .{}, null);
    defer context.deinit();
    const table = try Tensor.fromSlice(context, &.{ 3, 2 }, &.{ 1, 0, 0, 1, 1, 1 }, null);
    defer table.deinit();
    const rows = try ops.embedding(.none, table, &.{ 2, 0 }, null);
    defer rows.deinit();
    try expectValues(&.{ 1, 1, 1, 0 }, rows);
    const q = try ops.reshape(.none, rows, &.{ 2, 1, 2 }, null);
    defer q.deinit();
    // Two records of one row each: every row sees itself alone.
    const a = try ops.attention(.none, q, q, q, &.{ 0, 1, 2 }, true, null);
    defer a.deinit();
    try expectValues(&.{ 1, 1, 1, 0 }, a);
    const nll = try ops.linearCrossEntropy(.none, rows, table, &.{1}, &.{1}, null);
    defer nll.deinit();
    const value = try nll.readAlloc(testing.allocator, null);
    defer testing.allocator.free(value);
    // logits 1, 0, 1
    try testing.expectApproxEqRel(@log(2 * std.math.e + 1), value[0], 1e-6);
}

test "the optimizer's calls take lists" {
    const context: Context = try .init("cpu:0", .{}, null);
    defer context.deinit();
    const a = try Tensor.fromSlice(context, &.{2}, &.{ 3, 0 }, null);
    defer a.deinit();
    const b = try Tensor.fromSlice(context, &.{2}, &.{ 0, 4 }, null);
    defer b.deinit();
    const norm = try hexapla.optimizer.gradientNorm(&.{ a, b }, null);
    try testing.expectEqual(5, norm);
    try testing.expect(try hexapla.optimizer.gradientClip(&.{ a, b }, norm, 1, null));
    try expectValues(&.{ 3 * @as(f32, 0.2), 0 }, a);
    const p = try Tensor.fromSlice(context, &.{1}, &.{1}, null);
    defer p.deinit();
    var zeros: [3]Tensor = undefined;
    for (&zeros) |*zero| zero.* = try Tensor.init(context, &.{1}, null);
    defer for (zeros) |zero| zero.deinit();
    try hexapla.optimizer.adamwStep(.{
        .step = 1,
        .learning_rate = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .weight_decay = 0.1,
    }, &.{p}, zeros[0..1], zeros[1..2], zeros[2..3], null);
    try expectValues(&.{0.999}, p);
}

test "a checkpoint comes back as written" {
    const balance: Balance = try .init();
    defer balance.check();
    var folder = testing.tmpDir(.{});
    defer folder.cleanup();
    const path = try std.fmt.allocPrintSentinel(testing.allocator, ".zig-cache/tmp/{s}/t.safetensors", .{folder.sub_path}, 0);
    defer testing.allocator.free(path);
    const context: Context = try .init("cpu:0", .{}, null);
    defer context.deinit();
    const tensor = try Tensor.fromSlice(context, &.{ 1, 2 }, &.{ 5, 6 }, null);
    defer tensor.deinit();
    try hexapla.checkpoint.write(path, &.{"t"}, &.{tensor}, &.{.{ .key = "update", .value = "7" }}, null);
    const file: hexapla.Checkpoint = try .open(path, null);
    defer file.deinit();
    try testing.expectEqual(1, try file.count(null));
    const entry = try file.describe(try file.find("t", null), null);
    try testing.expectEqualStrings("F32", entry.dtype());
    try testing.expectEqualSlices(i64, &.{ 1, 2 }, entry.shape());
    var buffer: [16]u8 = undefined;
    try testing.expectEqualStrings("7", try file.metadata("update", &buffer, null));
    try testing.expectError(error.NotFound, file.find("absent", null));
    const read = try file.read(0, context, null);
    defer read.deinit();
    try testing.expectEqual(try hexapla.digest(&.{tensor}, null), try hexapla.digest(&.{read}, null));
}

test "a tokenizer encodes text and knows its added tokens" {
    const folder = std.mem.span(std.c.getenv("HEXAPLA_TOKENIZER") orelse return error.SkipZigTest);
    const balance: Balance = try .init();
    defer balance.check();
    const tokenizer: hexapla.Tokenizer = try .open(folder, null);
    defer tokenizer.deinit();
    var ids: std.ArrayList(i32) = .empty;
    defer ids.deinit(testing.allocator);
    // U+0958 is longer in NFC: the first guess at the room is too small.
    try tokenizer.encode(testing.allocator, "<|im_end|>\u{958}\u{958}", &ids, null);
    const end = try tokenizer.tokenId("<|im_end|>", null);
    try testing.expect(ids.items.len > 0);
    try testing.expect(std.mem.findScalar(i32, ids.items, end) == null);
    try testing.expectError(error.NotFound, tokenizer.tokenId("no token", null));
    var found = false;
    for (0..try tokenizer.addedCount(null)) |i| {
        const token = try tokenizer.added(i, null);
        if (std.mem.eql(u8, token.text, "<|im_end|>")) found = token.id == end;
    }
    try testing.expect(found);
}

fn waitAndCount(gate: hexapla.Gate, count: *std.atomic.Value(u32)) void {
    gate.wait(null) catch unreachable;
    _ = count.fetchAdd(1, .monotonic);
}

test "a gate holds a thread until it opens" {
    const balance: Balance = try .init();
    defer balance.check();
    const gate: hexapla.Gate = try .init(null);
    defer gate.deinit();
    var count: std.atomic.Value(u32) = .init(0);
    const thread = try std.Thread.spawn(.{}, waitAndCount, .{ gate, &count });
    try testing.expectEqual(0, count.load(.monotonic));
    try gate.open(null);
    thread.join();
    try testing.expectEqual(1, count.load(.monotonic));
}

test "layouts name every field of a struct" {
    for (hexapla.testing.types) |layout| {
        if (!std.mem.eql(u8, layout.name, "hxp_error")) continue;
        try testing.expectEqual(1024, layout.size);
        try testing.expectEqual(8, layout.fields[2].offset);
        return;
    }
    return error.TypeMissing;
}
