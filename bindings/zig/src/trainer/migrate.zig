//! The `migrating` schedule: each update on a thread of its own, which then stays in a native call until the
//! update eight later has begun. Separate because `pinned` knows nothing of it.

const std = @import("std");
const hexapla = @import("hexapla");
const Error = @import("fault.zig").Error;
const Learner = @import("learner.zig").Learner;
const Step = @import("learner.zig").Step;
const Gate = hexapla.Gate;

/// How many updates later a thread is let go.
const distance = 8;

const Task = struct {
    learner: *Learner,
    k: u64,
    /// Held by the update eight earlier.
    let_go: ?Gate,
    stay: Gate,
    done: Gate,
    thread: std.Thread = undefined,
    result: Error!Step = error.Failed,

    fn init(allocator: std.mem.Allocator, learner: *Learner, k: u64, let_go: ?Gate) Error!*Task {
        const d = learner.fault.d();
        const task = try allocator.create(Task);
        errdefer allocator.destroy(task);
        const stay = try Gate.init(d);
        errdefer stay.deinit();
        task.* = .{ .learner = learner, .k = k, .let_go = let_go, .stay = stay, .done = try Gate.init(d) };
        errdefer task.done.deinit();
        task.thread = std.Thread.spawn(.{}, run, .{task}) catch |err|
            return learner.fault.fail("internal", "thread", "cannot start a thread: {t}", .{err});
        return task;
    }

    fn run(self: *Task) void {
        self.result = self.play();
        // Gates fail only when they are no gates; both live until this thread has been joined.
        self.done.open(null) catch unreachable;
        self.stay.wait(null) catch unreachable;
    }

    fn play(self: *Task) Error!Step {
        if (self.let_go) |gate| try gate.open(self.learner.fault.d());
        return self.learner.update(self.k);
    }

    fn deinit(self: *Task, allocator: std.mem.Allocator) void {
        self.stay.open(null) catch unreachable;
        self.thread.join();
        self.stay.deinit();
        self.done.deinit();
        allocator.destroy(self);
    }
};

pub const Migration = struct {
    allocator: std.mem.Allocator,
    tasks: [distance]?*Task = @splat(null),

    /// Update k, on a new thread.
    pub fn update(self: *Migration, learner: *Learner, k: u64) Error!Step {
        const slot = &self.tasks[@intCast(k % distance)];
        const task = try Task.init(self.allocator, learner, k, if (slot.*) |earlier| earlier.stay else null);
        task.done.wait(learner.fault.d()) catch unreachable;
        if (slot.*) |earlier| earlier.deinit(self.allocator);
        slot.* = task;
        return task.result;
    }

    /// Let every thread go and wait for it.
    pub fn deinit(self: *Migration) void {
        for (self.tasks) |slot| if (slot) |task| task.deinit(self.allocator);
    }
};
