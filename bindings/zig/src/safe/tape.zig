//! Tapes: an explicit record of operations, and the way back through it. Separate as in the C headers.

const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Context = @import("context.zig").Context;
const Tensor = @import("tensor.zig").Tensor;
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// A share of a tape.
pub const Tape = extern struct {
    id: sys.hxp_tape,

    /// No tape: an operation given this is not recorded.
    pub const none: Tape = .{ .id = 0 };

    /// Make an empty tape.
    pub fn init(context: Context, diagnostics: ?*Diagnostics) Error!Tape {
        var self: Tape = undefined;
        try diag.check(sys.hxp_tape_create(context.id, &self.id, diag.raw(diagnostics)), diagnostics);
        return self;
    }

    /// Give this share back; the last one drops the records and their shares of tensors.
    pub fn deinit(self: Tape) void {
        diag.released(sys.hxp_tape_release(self.id, null), "tape");
    }

    /// As `deinit`, for a caller who wants to hear of a second release.
    pub fn release(self: Tape, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_tape_release(self.id, diag.raw(diagnostics)), diagnostics);
    }

    /// A second owner.
    pub fn retain(self: Tape, diagnostics: ?*Diagnostics) Error!Tape {
        var copy: Tape = undefined;
        try diag.check(sys.hxp_tape_retain(self.id, &copy.id, diag.raw(diagnostics)), diagnostics);
        return copy;
    }

    /// Ask for a tensor's gradient. Backward adds to what `gradient` holds; `.none`: the tape makes one.
    pub fn watch(self: Tape, tensor: Tensor, into: Tensor, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_tape_watch(self.id, tensor.id, into.id, diag.raw(diagnostics)), diagnostics);
    }

    /// The gradient of a watched tensor; an owner of its own.
    pub fn gradient(self: Tape, tensor: Tensor, diagnostics: ?*Diagnostics) Error!Tensor {
        var out: Tensor = undefined;
        try diag.check(sys.hxp_tape_gradient(self.id, tensor.id, &out.id, diag.raw(diagnostics)), diagnostics);
        return out;
    }

    /// Go back from `output`; `incoming` has its shape, `.none` means ones. The records are gone afterwards.
    pub fn backward(self: Tape, output: Tensor, incoming: Tensor, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_tape_backward(self.id, output.id, incoming.id, diag.raw(diagnostics)), diagnostics);
    }

    /// Drop the records without going back. Watched tensors stay watched.
    pub fn reset(self: Tape, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_tape_reset(self.id, diag.raw(diagnostics)), diagnostics);
    }
};
