//! One request being played: what came in, where events go, memory and the place for its failure. Separate
//! so that every request has one shape.

const std = @import("std");
const json = @import("json.zig");
const Error = @import("fault.zig").Error;
const Events = @import("events.zig").Events;
const Fault = @import("fault.zig").Fault;
const Fields = @import("request.zig").Fields;
const ContextRequest = @import("request.zig").ContextRequest;
const Input = @import("input.zig").Input;

pub const Call = struct {
    message: json.Value,
    events: Events,
    fault: *Fault,
    /// For what is freed while the request runs. Any thread may use it.
    allocator: std.mem.Allocator,
    /// Freed when the request has ended. One thread at a time.
    arena: std.mem.Allocator,
    io: std.Io,
    input: *Input,

    /// The request's own keys, checked.
    pub fn fields(self: *const Call, comptime keys: []const []const u8) Error!Fields {
        const all = [_][]const u8{ "protocol", "id", "request" } ++ keys;
        return Fields.init(self.message, all, "the request", "request", self.fault, self.arena);
    }

    pub fn context(self: *const Call, from: Fields) Error!ContextRequest {
        return ContextRequest.init(from.raw("context"), self.fault, self.arena);
    }
};
