//! `hexapla/context.h`: A context: one device, its memory account, its workers and its ledger. The header holds the
//! contract; this file holds its shape and nothing else.

use std::ffi::{c_char, c_void};

use crate::status::{hxp_error, hxp_status};

pub type hxp_context = u64;

pub const HXP_THREADS_OWNER: u32 = 1;
pub const HXP_SPILL: u32 = 2;

pub type hxp_pressure_hook =
    Option<unsafe extern "C" fn(payload: *mut c_void, need_bytes: u64, live_bytes: u64, limit_bytes: u64) -> i32>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_context_options {
    pub struct_size: u32,
    pub flags: u32,
    pub threads: u32,
    pub pressure_retries: u32,
    pub memory_limit: u64,
    pub ledger_path: *const c_char,
    pub pressure_hook: hxp_pressure_hook,
    pub pressure_payload: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_memory {
    pub struct_size: u32,
    pub threads: u32,
    pub live_bytes: i64,
    pub peak_bytes: i64,
    pub limit_bytes: i64,
    pub live_handles: i64,
    pub spilled_bytes: i64,
    pub allocations: i64,
    pub pressure_calls: i64,
    pub pressure_rescues: i64,
    pub stale_calls: i64,
    pub foreign_calls: i64,
    pub injected_failures: i64,
}

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_context_options_init(options: *mut hxp_context_options);
    pub fn hxp_memory_init(memory: *mut hxp_memory);
    pub fn hxp_context_create(
        device: *const c_char,
        options: *const hxp_context_options,
        out: *mut hxp_context,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_context_retain(context: hxp_context, out: *mut hxp_context, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_context_release(context: hxp_context, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_context_device(
        context: hxp_context,
        out: *mut c_char,
        out_bytes: u64,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_context_memory(context: hxp_context, out: *mut hxp_memory, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_process_memory(out: *mut hxp_memory, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_context_reset_peak(context: hxp_context, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_context_mark(context: hxp_context, update: u64, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_context_synchronize(context: hxp_context, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_context_fail_allocation(
        context: hxp_context,
        nth: u64,
        persistent: i32,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_context_fail_next(context: hxp_context, status: hxp_status, error: *mut hxp_error) -> hxp_status;
}
