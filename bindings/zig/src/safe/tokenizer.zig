//! The tokenizer: a tokenizer.json of byte-level BPE with NFC. Separate as in the C headers; any number of
//! threads may encode at once.

const std = @import("std");
const sys = @import("../sys.zig");
const diag = @import("diagnostics.zig");
const Diagnostics = diag.Diagnostics;
const Error = diag.Error;

/// A token that stands outside the BPE vocabulary. `text` dies with the tokenizer.
pub const AddedToken = struct { id: i32, special: bool, text: []const u8 };

/// A share of a tokenizer.
pub const Tokenizer = extern struct {
    id: sys.hxp_tokenizer,

    /// Open the tokenizer.json of a folder.
    pub fn open(folder: [:0]const u8, diagnostics: ?*Diagnostics) Error!Tokenizer {
        var self: Tokenizer = undefined;
        try diag.check(sys.hxp_tokenizer_open(folder.ptr, &self.id, diag.raw(diagnostics)), diagnostics);
        return self;
    }

    /// Give this share back.
    pub fn deinit(self: Tokenizer) void {
        diag.released(sys.hxp_tokenizer_release(self.id, null), "tokenizer");
    }

    /// A second owner.
    pub fn retain(self: Tokenizer, diagnostics: ?*Diagnostics) Error!Tokenizer {
        var copy: Tokenizer = undefined;
        try diag.check(sys.hxp_tokenizer_retain(self.id, &copy.id, diag.raw(diagnostics)), diagnostics);
        return copy;
    }

    /// Append the ids of a text, UTF-8; no added token is recognised inside it.
    pub fn encode(
        self: Tokenizer,
        allocator: std.mem.Allocator,
        text: []const u8,
        ids: *std.ArrayList(i32),
        diagnostics: ?*Diagnostics,
    ) (Error || error{OutOfMemory})!void {
        // Enough for a text in NFC. NFC can lengthen a text; the call then says by how much.
        var room: usize = text.len;
        while (true) {
            try ids.ensureUnusedCapacity(allocator, room);
            var count: u64 = 0;
            const free = ids.unusedCapacitySlice();
            const status = sys.hxp_tokenizer_encode(
                self.id,
                text.ptr,
                text.len,
                free.ptr,
                free.len,
                &count,
                diag.raw(diagnostics),
            );
            if (status == sys.HXP_INVALID_ARGUMENT and count > free.len) {
                room = count;
                continue;
            }
            try diag.check(status, diagnostics);
            ids.items.len += count;
            return;
        }
    }

    /// The id of an added token by its text, or `NotFound`.
    pub fn tokenId(self: Tokenizer, text: [:0]const u8, diagnostics: ?*Diagnostics) Error!i32 {
        var out: i32 = undefined;
        try diag.check(sys.hxp_tokenizer_id(self.id, text.ptr, &out, diag.raw(diagnostics)), diagnostics);
        return out;
    }

    /// How many added tokens there are.
    pub fn addedCount(self: Tokenizer, diagnostics: ?*Diagnostics) Error!u64 {
        var out: u64 = undefined;
        try diag.check(sys.hxp_tokenizer_added_count(self.id, &out, diag.raw(diagnostics)), diagnostics);
        return out;
    }

    /// The added token at an index, in the file's order.
    pub fn added(self: Tokenizer, index: u64, diagnostics: ?*Diagnostics) Error!AddedToken {
        var raw: sys.hxp_added_token = undefined;
        sys.hxp_added_token_init(&raw);
        try diag.check(sys.hxp_tokenizer_added(self.id, index, &raw, diag.raw(diagnostics)), diagnostics);
        return .{ .id = raw.id, .special = raw.special != 0, .text = raw.text.?[0..raw.text_bytes] };
    }
};
