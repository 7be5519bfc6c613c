//! A gate: a place where a caller blocks in native code, holding no lock. Separate as in the C headers.

const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// A share of a gate.
pub const Gate = extern struct {
    id: sys.hxp_gate,

    /// Make a closed gate.
    pub fn init(diagnostics: ?*Diagnostics) Error!Gate {
        var self: Gate = undefined;
        try diag.check(sys.hxp_gate_create(&self.id, diag.raw(diagnostics)), diagnostics);
        return self;
    }

    /// Give this share back; the last one opens the gate.
    pub fn deinit(self: Gate) void {
        diag.released(sys.hxp_gate_release(self.id, null), "gate");
    }

    /// A second owner.
    pub fn retain(self: Gate, diagnostics: ?*Diagnostics) Error!Gate {
        var copy: Gate = undefined;
        try diag.check(sys.hxp_gate_retain(self.id, &copy.id, diag.raw(diagnostics)), diagnostics);
        return copy;
    }

    /// Block until the gate is open.
    pub fn wait(self: Gate, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_gate_wait(self.id, diag.raw(diagnostics)), diagnostics);
    }

    /// Open the gate for good and wake every waiter.
    pub fn open(self: Gate, diagnostics: ?*Diagnostics) Error!void {
        return diag.check(sys.hxp_gate_open(self.id, diag.raw(diagnostics)), diagnostics);
    }
};
