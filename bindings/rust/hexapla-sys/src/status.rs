//! `hexapla/status.h`: Status codes, the error struct, and who the library is. The header holds the contract; this
//! file holds its shape and nothing else.

use std::ffi::c_char;

pub const HXP_ABI_VERSION: u32 = 1;

pub type hxp_status = i32;

pub const HXP_OK: hxp_status = 0;
pub const HXP_INVALID_ARGUMENT: hxp_status = 1;
pub const HXP_OUT_OF_MEMORY: hxp_status = 2;
pub const HXP_STALE_HANDLE: hxp_status = 3;
pub const HXP_WRONG_KIND: hxp_status = 4;
pub const HXP_WRONG_THREAD: hxp_status = 5;
pub const HXP_BUSY: hxp_status = 6;
pub const HXP_DEVICE: hxp_status = 7;
pub const HXP_NO_GRADIENT: hxp_status = 8;
pub const HXP_IO: hxp_status = 9;
pub const HXP_FORMAT: hxp_status = 10;
pub const HXP_NOT_FOUND: hxp_status = 11;
pub const HXP_UNSUPPORTED: hxp_status = 12;
pub const HXP_INTERNAL: hxp_status = 13;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_error {
    pub struct_size: u32,
    pub status: hxp_status,
    pub message: [c_char; 1016],
}

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_error_init(error: *mut hxp_error);
    pub safe fn hxp_status_name(status: hxp_status) -> *const c_char;
    pub safe fn hxp_abi_version() -> u32;
    pub safe fn hxp_build_info() -> *const c_char;
    pub safe fn hxp_build_faults() -> *const c_char;
}
