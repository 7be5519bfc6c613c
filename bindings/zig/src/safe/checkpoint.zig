//! Checkpoints on disk: safetensors files read and written. Separate as in the C headers.

const std = @import("std");
const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Context = @import("context.zig").Context;
const Tensor = @import("tensor.zig").Tensor;
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// One tensor of a checkpoint, as stored. `name` dies with the checkpoint.
pub const Entry = struct {
    raw: sys.hxp_checkpoint_entry,

    pub fn name(self: *const Entry) [:0]const u8 {
        return std.mem.span(self.raw.name.?);
    }

    pub fn shape(self: *const Entry) []const i64 {
        return self.raw.shape[0..self.raw.rank];
    }

    /// "F32", "F16", "BF16", or another that cannot be read.
    pub fn dtype(self: *const Entry) []const u8 {
        return std.mem.sliceTo(&self.raw.dtype, 0);
    }
};

/// A key and its value in a file's "__metadata__".
pub const Metadata = struct { key: [:0]const u8, value: [:0]const u8 };

/// A reader of a checkpoint; it belongs to no context.
pub const Checkpoint = extern struct {
    id: sys.hxp_checkpoint,

    /// Open a .safetensors file, or a folder that holds a model.
    pub fn open(path: [:0]const u8, diagnostics: ?*Diagnostics) Error!Checkpoint {
        var self: Checkpoint = undefined;
        try diag.check(sys.hxp_checkpoint_open(path.ptr, &self.id, diag.raw(diagnostics)), diagnostics);
        return self;
    }

    /// Give this share back.
    pub fn deinit(self: Checkpoint) void {
        diag.released(sys.hxp_checkpoint_release(self.id, null), "checkpoint");
    }

    /// A second owner of the same reader.
    pub fn retain(self: Checkpoint, diagnostics: ?*Diagnostics) Error!Checkpoint {
        var copy: Checkpoint = undefined;
        try diag.check(sys.hxp_checkpoint_retain(self.id, &copy.id, diag.raw(diagnostics)), diagnostics);
        return copy;
    }

    /// How many tensors it holds.
    pub fn count(self: Checkpoint, diagnostics: ?*Diagnostics) Error!u64 {
        var out: u64 = undefined;
        try diag.check(sys.hxp_checkpoint_count(self.id, &out, diag.raw(diagnostics)), diagnostics);
        return out;
    }

    /// The entry at an index; entries are sorted by the bytes of their names.
    pub fn describe(self: Checkpoint, index: u64, diagnostics: ?*Diagnostics) Error!Entry {
        var entry: Entry = undefined;
        sys.hxp_checkpoint_entry_init(&entry.raw);
        try diag.check(sys.hxp_checkpoint_describe(self.id, index, &entry.raw, diag.raw(diagnostics)), diagnostics);
        return entry;
    }

    /// The index of a name, or `NotFound`.
    pub fn find(self: Checkpoint, name: [:0]const u8, diagnostics: ?*Diagnostics) Error!u64 {
        var index: u64 = undefined;
        try diag.check(sys.hxp_checkpoint_find(self.id, name.ptr, &index, diag.raw(diagnostics)), diagnostics);
        return index;
    }

    /// Read one tensor to a context, widened to f32; the caller owns it.
    pub fn read(self: Checkpoint, index: u64, context: Context, diagnostics: ?*Diagnostics) Error!Tensor {
        var out: Tensor = undefined;
        try diag.check(sys.hxp_checkpoint_read(self.id, index, context.id, &out.id, diag.raw(diagnostics)), diagnostics);
        return out;
    }

    /// A value of the file's metadata, written into `buffer`; `NotFound` if the key is absent.
    pub fn metadata(self: Checkpoint, key: [:0]const u8, buffer: []u8, diagnostics: ?*Diagnostics) Error![]const u8 {
        const status = sys.hxp_checkpoint_metadata(self.id, key.ptr, buffer.ptr, buffer.len, diag.raw(diagnostics));
        try diag.check(status, diagnostics);
        return std.mem.sliceTo(buffer, 0);
    }
};

/// Write tensors to one safetensors file, all or nothing; names and tensors are of one length.
pub fn write(
    path: [:0]const u8,
    names: []const [*:0]const u8,
    tensors: []const Tensor,
    metadata: []const Metadata,
    diagnostics: ?*Diagnostics,
) Error!void {
    var keys: [8][*:0]const u8 = undefined;
    var values: [8][*:0]const u8 = undefined;
    if (names.len != tensors.len) @panic("names and tensors differ in length");
    if (metadata.len > keys.len) @panic("more than 8 metadata keys");
    for (metadata, 0..) |pair, i| {
        keys[i] = pair.key.ptr;
        values[i] = pair.value.ptr;
    }
    const status = sys.hxp_checkpoint_write(
        path.ptr,
        names.ptr,
        @ptrCast(tensors.ptr),
        tensors.len,
        &keys,
        &values,
        metadata.len,
        diag.raw(diagnostics),
    );
    return diag.check(status, diagnostics);
}

/// Make a folder of finished files final: sync, rename, sync the parent. `final` must not exist.
pub fn commit(partial: [:0]const u8, final: [:0]const u8, diagnostics: ?*Diagnostics) Error!void {
    return diag.check(sys.hxp_checkpoint_commit(partial.ptr, final.ptr, diag.raw(diagnostics)), diagnostics);
}
