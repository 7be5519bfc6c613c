//! The `operators` request: single operations on tensors that the harness chose, forward and back. Separate
//! from the forward pass, which it must not resemble more than both resemble the specification.

const std = @import("std");
const hexapla = @import("hexapla");
const fault_file = @import("fault.zig");
const json = @import("json.zig");
const Attributes = @import("attributes.zig").Attributes;
const Call = @import("call.zig").Call;
const Error = fault_file.Error;
const Fault = fault_file.Fault;
const Fields = @import("request.zig").Fields;
const Scope = @import("forward.zig").Scope;
const Tape = hexapla.Tape;
const Tensor = hexapla.Tensor;
const ops = hexapla.ops;

pub fn request(call: *Call) Error!void {
    const fields = try call.fields(&.{ "context", "cases", "file", "output" });
    const chosen = try call.context(fields);
    const path = try fields.path("file");
    const output = try fields.path("output");
    const list = fields.raw("cases");
    if (list != .array) return fields.bad("cases", "a list");
    const cases = try call.arena.alloc(Case, list.array.len);
    for (cases, list.array) |*case, value| case.* = try .parse(value, call.fault, call.arena);
    {
        const context = try chosen.open(call.fault);
        defer context.deinit();
        call.fault.at("{s}", .{path});
        const file = try hexapla.Checkpoint.open(path, call.fault.d());
        defer file.deinit();
        var results: Results = .{ .scope = .{ .allocator = call.allocator }, .arena = call.arena };
        defer results.scope.deinit();
        for (cases) |case| report(call, case, context, file, &results);
        call.fault.at("{s}", .{output});
        try hexapla.checkpoint.write(output, results.names.items, results.scope.tensors.items, &.{}, call.fault.d());
    }
    call.events.send("done", .{ .cases = cases.len });
}

/// Play one case; what it made before it failed is not kept.
fn report(call: *Call, case: Case, context: hexapla.Context, file: hexapla.Checkpoint, results: *Results) void {
    const before = results.names.items.len;
    var message: []const u8 = "";
    var player: Player = .{
        .case = case,
        .context = context,
        .file = file,
        .fault = call.fault,
        .arena = call.arena,
        .results = results,
        .scope = .{ .allocator = call.allocator },
    };
    defer player.scope.deinit();
    if (player.play()) |_| {} else |err| {
        results.shrink(before);
        message = fault_file.messageOf(call.fault, err);
    }
    call.events.send("case", .{ .case = case.name, .ok = message.len == 0, .message = message });
}

/// One case of the request.
const Case = struct {
    name: []const u8,
    op: []const u8,
    attributes: json.Value,
    inputs: []const []const u8,
    gradients: []const []const u8,

    fn parse(value: json.Value, fault: *Fault, arena: std.mem.Allocator) Error!Case {
        const keys = [_][]const u8{ "case", "op", "attributes", "inputs", "gradients" };
        const fields = try Fields.init(value, &keys, "a case", "request", fault, arena);
        if (fields.raw("attributes") != .object) return fields.bad("attributes", "an object");
        return .{
            .name = try fields.string("case"),
            .op = try fields.string("op"),
            .attributes = fields.raw("attributes"),
            .inputs = try strings(fields, "inputs"),
            .gradients = try strings(fields, "gradients"),
        };
    }

    fn strings(fields: Fields, key: []const u8) Error![]const []const u8 {
        const value = fields.raw(key);
        if (value != .array) return fields.bad(key, "a list of strings");
        const out = try fields.arena.alloc([]const u8, value.array.len);
        for (out, value.array) |*text, item| {
            if (item != .string) return fields.bad(key, "a list of strings");
            text.* = item.string;
        }
        return out;
    }
};

/// Tensors to be written, owned until then.
const Results = struct {
    scope: Scope,
    arena: std.mem.Allocator,
    names: std.ArrayList([*:0]const u8) = .empty,

    /// Take over a tensor under `<case>.<name>`.
    fn add(self: *Results, case: []const u8, name: []const u8, tensor: Tensor) Error!void {
        _ = try self.scope.own(tensor);
        const full = try std.fmt.allocPrintSentinel(self.arena, "{s}.{s}", .{ case, name }, 0);
        try self.names.append(self.arena, full.ptr);
    }

    fn shrink(self: *Results, count: usize) void {
        for (self.scope.tensors.items[count..]) |tensor| tensor.deinit();
        self.scope.tensors.shrinkRetainingCapacity(count);
        self.names.shrinkRetainingCapacity(count);
    }
};

const Op = enum {
    embedding,
    rms_norm,
    linear,
    lora_linear,
    rope,
    attention,
    swiglu,
    add,
    scale,
    linear_cross_entropy,
    matmul,
    softmax,
    transpose,
    reshape,
    reduce_sum,
    gradient_norm,
    clip,
    adamw,

    /// How many inputs it has; null: any number.
    fn inputs(op: Op) ?usize {
        return switch (op) {
            .gradient_norm, .clip => null,
            .embedding, .rope, .scale, .softmax, .transpose, .reshape, .reduce_sum => 1,
            .rms_norm, .linear, .swiglu, .add, .linear_cross_entropy, .matmul => 2,
            .attention => 3,
            .lora_linear, .adamw => 4,
        };
    }
};

const Player = struct {
    case: Case,
    context: hexapla.Context,
    file: hexapla.Checkpoint,
    fault: *Fault,
    arena: std.mem.Allocator,
    results: *Results,
    scope: Scope,

    fn play(self: *Player) Error!void {
        const op = std.meta.stringToEnum(Op, self.case.op) orelse return self.refuse("unknown op {s}", .{self.case.op});
        const count = self.case.inputs.len;
        if (count != (op.inputs() orelse @max(count, 1)))
            return self.refuse("{t} has {d} inputs, not {d}", .{ op, op.inputs() orelse 1, count });
        const d = self.fault.d();
        const tape = try Tape.init(self.context, d);
        defer tape.deinit();
        const buffers = try self.arena.alloc(Tensor, count);
        const operands = try self.arena.alloc(Tensor, count);
        for (self.case.inputs, buffers, operands) |name, *buffer, *operand| {
            buffer.* = try self.scope.own(try self.read(name));
            for (self.case.gradients) |wanted| if (std.mem.eql(u8, wanted, name)) try tape.watch(buffer.*, .none, d);
            operand.* = try self.view(tape, name, buffer.*);
        }
        const attributes: Attributes = .{ .object = self.case.attributes, .fault = self.fault, .arena = self.arena };
        switch (op) {
            .gradient_norm, .clip, .adamw => return self.optimize(op, operands, attributes),
            else => {},
        }
        const output = try self.scope.own(try compute(op, tape, operands, attributes, d));
        try self.results.add(self.case.name, "output", try self.contiguous(output));
        if (self.case.gradients.len == 0) return;
        try self.back(tape, output, buffers);
    }

    fn back(self: *Player, tape: Tape, output: Tensor, buffers: []const Tensor) Error!void {
        const d = self.fault.d();
        const stored = self.has("incoming");
        const incoming: Tensor = if (try stored) blk: {
            const buffer = try self.scope.own(try self.read("incoming"));
            break :blk try self.view(.none, "incoming", buffer);
        } else .none;
        try tape.backward(output, incoming, d);
        for (self.case.gradients) |wanted| {
            const i = for (self.case.inputs, 0..) |name, i| {
                if (std.mem.eql(u8, name, wanted)) break i;
            } else return self.refuse("gradient of {s}, which is no input", .{wanted});
            const name = try std.fmt.allocPrint(self.arena, "gradient.{s}", .{wanted});
            try self.results.add(self.case.name, name, try tape.gradient(buffers[i], d));
        }
    }

    fn fullName(self: *Player, name: []const u8) Error![:0]const u8 {
        return std.fmt.allocPrintSentinel(self.arena, "{s}.{s}", .{ self.case.name, name }, 0);
    }

    fn has(self: *Player, name: []const u8) Error!bool {
        _ = self.file.find(try self.fullName(name), self.fault.d()) catch |err| return if (err == error.NotFound) false else err;
        return true;
    }

    fn read(self: *Player, name: []const u8) Error!Tensor {
        const d = self.fault.d();
        return self.file.read(try self.file.find(try self.fullName(name), d), self.context, d);
    }

    /// The tensor itself, or the strided view of it that the attributes ask for.
    fn view(self: *Player, tape: Tape, name: []const u8, buffer: Tensor) Error!Tensor {
        const all = self.case.attributes.get("strides") orelse return buffer;
        if (all.get(name) == null) return buffer;
        const attributes: Attributes = .{ .object = self.case.attributes, .fault = self.fault, .arena = self.arena };
        const strides = try attributes.within("strides").sizes(name);
        const shape = try attributes.within("view").sizes(name);
        if (strides.len != shape.len) return self.refuse("strides and view of {s} differ in length", .{name});
        const offsets = attributes.within("offset");
        const offset = if (offsets.object.get(name) == null) 0 else try offsets.integer(name);
        return self.scope.own(try ops.asStrided(tape, buffer, shape, strides, offset, self.fault.d()));
    }

    /// A share of the output, or its values in a tensor without gaps: a file holds no strides.
    fn contiguous(self: *Player, output: Tensor) Error!Tensor {
        const d = self.fault.d();
        const info = try output.describe(d);
        if (info.raw.contiguous == 1) return output.retain(d);
        const values = try output.readAlloc(self.arena, d);
        return Tensor.fromSlice(self.context, info.shape(), values, d);
    }

    fn optimize(self: *Player, op: Op, operands: []const Tensor, attributes: Attributes) Error!void {
        const d = self.fault.d();
        if (op == .adamw) {
            try hexapla.optimizer.adamwStep(.{
                .step = std.math.cast(u64, try attributes.integer("step")) orelse return self.refuse(
                    "step must be at least 1",
                    .{},
                ),
                .learning_rate = try attributes.float("learning_rate"),
                .beta1 = try attributes.float("beta1"),
                .beta2 = try attributes.float("beta2"),
                .epsilon = try attributes.float("epsilon"),
                .weight_decay = try attributes.float("weight_decay"),
            }, operands[0..1], operands[1..2], operands[2..3], operands[3..4], d);
            for ([_][]const u8{ "output.p", "output.m", "output.v" }, [_]usize{ 0, 2, 3 }) |name, i|
                try self.results.add(self.case.name, name, try operands[i].retain(d));
            return;
        }
        const norm = try hexapla.optimizer.gradientNorm(operands, d);
        const value = try Tensor.fromSlice(self.context, &.{1}, &.{@floatCast(norm)}, d);
        try self.results.add(self.case.name, if (op == .clip) "output.norm" else "output", value);
        if (op == .gradient_norm) return;
        _ = try hexapla.optimizer.gradientClip(operands, norm, try attributes.float("clip_norm"), d);
        for (self.case.inputs, operands) |name, operand| {
            const full = try std.fmt.allocPrint(self.arena, "output.{s}", .{name});
            try self.results.add(self.case.name, full, try operand.retain(d));
        }
    }

    fn refuse(self: *Player, comptime format: []const u8, arguments: anytype) error{Failed} {
        return self.fault.fail("request", self.case.name, format, arguments);
    }
};

fn compute(op: Op, tape: Tape, in: []const Tensor, attributes: Attributes, d: *hexapla.Diagnostics) Error!Tensor {
    return switch (op) {
        .embedding => ops.embedding(tape, in[0], try attributes.numbers("ids"), d),
        .rms_norm => ops.rmsNorm(tape, in[0], in[1], try attributes.float("epsilon"), d),
        .linear => ops.linear(tape, in[0], in[1], d),
        .lora_linear => ops.loraLinear(tape, in[0], in[1], in[2], in[3], try attributes.float("scale"), d),
        .rope => ops.rope(tape, in[0], try attributes.numbers("positions"), try attributes.float("theta"), d),
        .attention => ops.attention(
            tape,
            in[0],
            in[1],
            in[2],
            try attributes.numbers("starts"),
            try attributes.flag("causal"),
            d,
        ),
        .swiglu => ops.swiglu(tape, in[0], in[1], d),
        .add => ops.add(tape, in[0], in[1], d),
        .scale => ops.scale(tape, in[0], try attributes.float("scale"), d),
        .linear_cross_entropy => blk: {
            const rows = try attributes.numbers("rows");
            const targets = try attributes.numbers("targets");
            if (rows.len != targets.len) break :blk attributes.bad("targets", "as many as rows");
            break :blk ops.linearCrossEntropy(tape, in[0], in[1], rows, targets, d);
        },
        .matmul => ops.matmul(tape, in[0], in[1], d),
        .softmax => ops.softmax(tape, in[0], d),
        .transpose => ops.transpose(tape, in[0], d),
        .reshape => ops.reshape(tape, in[0], try attributes.sizes("shape"), d),
        .reduce_sum => ops.reduceSum(tape, in[0], std.math.cast(u32, try attributes.integer("axis")) orelse
            return attributes.bad("axis", "at least 0"), d),
        .gradient_norm, .clip, .adamw => unreachable,
    };
}
