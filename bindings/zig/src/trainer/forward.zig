//! The forward pass, exactly the calls and the order of the specification, and the scope that owns what they
//! make. Separate because it reads as docs/spec.md does.

const std = @import("std");
const hexapla = @import("hexapla");
const Adapter = @import("adapter.zig").Adapter;
const Error = @import("fault.zig").Error;
const Fault = @import("fault.zig").Fault;
const MicroBatch = @import("batch.zig").MicroBatch;
const Model = @import("model.zig").Model;
const Layer = @import("model.zig").Layer;
const Target = @import("spec.zig").Target;
const Tape = hexapla.Tape;
const Tensor = hexapla.Tensor;
const ops = hexapla.ops;

/// Owns the temporaries of one micro-batch and releases them together.
pub const Scope = struct {
    allocator: std.mem.Allocator,
    /// `collector`: nothing is released and the ids are forgotten; Zig has no collector to find them.
    leak: bool = false,
    tensors: std.ArrayList(Tensor) = .empty,

    /// Take over a tensor.
    pub fn own(self: *Scope, tensor: Tensor) error{OutOfMemory}!Tensor {
        errdefer tensor.deinit();
        try self.tensors.append(self.allocator, tensor);
        return tensor;
    }

    /// End the micro-batch; the scope can be used again.
    pub fn end(self: *Scope) void {
        if (!self.leak) for (self.tensors.items) |tensor| tensor.deinit();
        self.tensors.clearRetainingCapacity();
    }

    pub fn deinit(self: *Scope) void {
        self.end();
        self.tensors.deinit(self.allocator);
    }
};

/// One forward pass over one micro-batch.
pub const Forward = struct {
    model: *const Model,
    /// null: the base model alone.
    adapter: ?*const Adapter,
    tape: Tape,
    micro: MicroBatch,
    scope: *Scope,
    fault: *Fault,

    /// nll (labels); the scope owns it.
    pub fn run(self: Forward) Error!Tensor {
        const d = self.fault.d();
        const epsilon = self.model.config.epsilon;
        // (rows, hidden)
        var x = try self.own(ops.embedding(self.tape, self.model.embedding, self.micro.ids, d));
        for (self.model.layers, 0..) |*layer, i| {
            x = try self.attend(x, layer, i);
            x = try self.feed(x, layer, i);
        }
        const h = try self.own(ops.rmsNorm(self.tape, x, self.model.norm, epsilon, d));
        return self.own(ops.linearCrossEntropy(self.tape, h, self.model.head, self.micro.rows, self.micro.targets, d));
    }

    /// The attention half of a layer: (rows, hidden) to (rows, hidden).
    fn attend(self: Forward, x: Tensor, layer: *const Layer, i: usize) Error!Tensor {
        const d = self.fault.d();
        const config = &self.model.config;
        const rows: i64 = @intCast(self.micro.ids.len);
        const queries = [_]i64{ rows, config.heads, config.head_dim };
        const keys = [_]i64{ rows, config.kv_heads, config.head_dim };
        const h = try self.own(ops.rmsNorm(self.tape, x, layer.input_norm, config.epsilon, d));
        var q = try self.project(h, layer, i, .q_proj);
        var k = try self.project(h, layer, i, .k_proj);
        var v = try self.project(h, layer, i, .v_proj);
        q = try self.own(ops.reshape(self.tape, q, &queries, d));
        k = try self.own(ops.reshape(self.tape, k, &keys, d));
        v = try self.own(ops.reshape(self.tape, v, &keys, d));
        if (config.head_norms) {
            q = try self.own(ops.rmsNorm(self.tape, q, layer.q_norm, config.epsilon, d));
            k = try self.own(ops.rmsNorm(self.tape, k, layer.k_norm, config.epsilon, d));
        }
        q = try self.own(ops.rope(self.tape, q, self.micro.positions, config.theta, d));
        k = try self.own(ops.rope(self.tape, k, self.micro.positions, config.theta, d));
        // (rows, heads, head_dim), then (rows, heads · head_dim)
        var a = try self.own(ops.attention(self.tape, q, k, v, self.micro.starts, true, d));
        a = try self.own(ops.reshape(self.tape, a, &.{ rows, config.heads * config.head_dim }, d));
        const o = try self.project(a, layer, i, .o_proj);
        return self.own(ops.add(self.tape, x, o, d));
    }

    /// The feed-forward half of a layer: (rows, hidden) to (rows, hidden).
    fn feed(self: Forward, x: Tensor, layer: *const Layer, i: usize) Error!Tensor {
        const d = self.fault.d();
        const h = try self.own(ops.rmsNorm(self.tape, x, layer.post_norm, self.model.config.epsilon, d));
        const g = try self.project(h, layer, i, .gate_proj);
        const u = try self.project(h, layer, i, .up_proj);
        const m = try self.own(ops.swiglu(self.tape, g, u, d));
        const down = try self.project(m, layer, i, .down_proj);
        return self.own(ops.add(self.tape, x, down, d));
    }

    fn project(self: Forward, x: Tensor, layer: *const Layer, i: usize, target: Target) Error!Tensor {
        const d = self.fault.d();
        const w = layer.weights.get(target);
        if (self.adapter) |adapter| if (adapter.pair(i, target)) |pair| {
            return self.own(ops.loraLinear(self.tape, x, w, pair[0], pair[1], adapter.scale, d));
        };
        return self.own(ops.linear(self.tape, x, w, d));
    }

    fn own(self: Forward, made: hexapla.Error!Tensor) Error!Tensor {
        return self.scope.own(try made);
    }
};
