//! Memory accounts: of one context, or of the whole process.

use hexapla_sys as sys;

use crate::error::{Result, check};

/// A memory account (`hexapla/context.h`). Bytes are device bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Worker threads.
    pub threads: u32,
    /// Bytes in use now.
    pub live_bytes: i64,
    /// The most so far, or since [`Context::reset_peak`](crate::Context::reset_peak).
    pub peak_bytes: i64,
    /// 0 = none.
    pub limit_bytes: i64,
    /// Ids given out and not yet released, of every kind, the context's own included.
    pub live_handles: i64,
    /// Of the live bytes, those now in host memory.
    pub spilled_bytes: i64,
    /// Allocations made so far.
    pub allocations: i64,
    /// Calls of the pressure hook.
    pub pressure_calls: i64,
    /// Allocations that succeeded after one.
    pub pressure_rescues: i64,
    /// Calls answered `HXP_STALE_HANDLE`; counted for the process alone.
    pub stale_calls: i64,
    /// Calls from another OS thread than the context's maker.
    pub foreign_calls: i64,
    /// Failures fired by the calls for tests.
    pub injected_failures: i64,
}

/// The account of the whole process: sums over all contexts, and every live handle of every kind.
///
/// # Errors
/// None that core's header names.
pub fn process_memory() -> Result<Memory> {
    read(|out, error| {
        // SAFETY: out and error point to initialised structs on the stack.
        unsafe { sys::hxp_process_memory(out, error) }
    })
}

/// Fill an account by one of the two calls.
pub(crate) fn read(call: impl FnOnce(*mut sys::hxp_memory, *mut sys::hxp_error) -> sys::hxp_status) -> Result<Memory> {
    let mut raw = std::mem::MaybeUninit::uninit();
    // SAFETY: init sets every field of the struct that it is given (context.h: "set … its size and zero the rest").
    unsafe { sys::hxp_memory_init(raw.as_mut_ptr()) };
    // SAFETY: initialised by the line above.
    let mut raw: sys::hxp_memory = unsafe { raw.assume_init() };
    check(|error| call(&mut raw, error))?;
    Ok(Memory {
        threads: raw.threads,
        live_bytes: raw.live_bytes,
        peak_bytes: raw.peak_bytes,
        limit_bytes: raw.limit_bytes,
        live_handles: raw.live_handles,
        spilled_bytes: raw.spilled_bytes,
        allocations: raw.allocations,
        pressure_calls: raw.pressure_calls,
        pressure_rescues: raw.pressure_rescues,
        stale_calls: raw.stale_calls,
        foreign_calls: raw.foreign_calls,
        injected_failures: raw.injected_failures,
    })
}
