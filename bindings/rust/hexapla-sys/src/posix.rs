//! The two calls of the C library that the `write_fails` scenario needs, as 64-bit Linux declares them. Separate
//! because they are no part of the core; nothing but the safe layer's `testing` part may use them.

use std::ffi::c_int;

pub const RLIMIT_FSIZE: c_int = 1;
pub const SIGXFSZ: c_int = 25;
/// The handler that ignores a signal.
pub const SIG_IGN: usize = 1;
/// What `signal` answers when it failed.
pub const SIG_ERR: usize = usize::MAX;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct rlimit {
    pub rlim_cur: u64,
    pub rlim_max: u64,
}

unsafe extern "C" {
    pub fn getrlimit(resource: c_int, limit: *mut rlimit) -> c_int;
    pub fn setrlimit(resource: c_int, limit: *const rlimit) -> c_int;
    /// Handlers are numbers here: only SIG_IGN and what an earlier call answered are ever passed.
    pub fn signal(number: c_int, handler: usize) -> usize;
}
