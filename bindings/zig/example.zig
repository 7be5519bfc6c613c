//! The README's example: the gradient of a sum of squares. Compiled and run by tests.zig.

const std = @import("std");
const hexapla = @import("hexapla");

/// The gradient of Σ w·x at x = (1, 2, 3) with w = x: twice x, in memory of `allocator`.
pub fn gradientOfSquares(allocator: std.mem.Allocator, diagnostics: *hexapla.Diagnostics) ![]f32 {
    const context: hexapla.Context = try .init("cpu:0", .{ .threads = 1 }, diagnostics);
    defer context.deinit();
    const x: hexapla.Tensor = try .fromSlice(context, &.{ 1, 3 }, &.{ 1, 2, 3 }, diagnostics);
    defer x.deinit();
    const tape: hexapla.Tape = try .init(context, diagnostics);
    defer tape.deinit();
    try tape.watch(x, .none, diagnostics);
    const squares = try hexapla.ops.linear(tape, x, x, diagnostics); // x xᵀ, (1, 1)
    defer squares.deinit();
    try tape.backward(squares, .none, diagnostics);
    const gradient = try tape.gradient(x, diagnostics);
    defer gradient.deinit();
    return gradient.readAlloc(allocator, diagnostics);
}

pub fn main(init: std.process.Init) !void {
    try hexapla.checkAbi();
    var diagnostics: hexapla.Diagnostics = .{};
    errdefer std.debug.print("hexapla: {s}\n", .{diagnostics.message()});
    const gradient = try gradientOfSquares(init.gpa, &diagnostics);
    defer init.gpa.free(gradient);
    std.debug.print("{any}\n", .{gradient});
}
