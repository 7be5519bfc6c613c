//! `hexapla/tensor.h`: Tensors: device memory with a shape. The header holds the contract; this file holds its shape
//! and nothing else.

use std::ffi::{c_char, c_void};

use crate::context::hxp_context;
use crate::status::{hxp_error, hxp_status};

pub type hxp_tensor = u64;

pub const HXP_DTYPE_F32: i32 = 1;
pub const HXP_DTYPE_F16: i32 = 2;
pub const HXP_DTYPE_BF16: i32 = 3;

pub const HXP_RANK_MAX: u32 = 8;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_tensor_info {
    pub struct_size: u32,
    pub dtype: i32,
    pub rank: u32,
    pub contiguous: u32,
    pub shape: [i64; 8],
    pub strides: [i64; 8],
    pub offset: i64,
    pub elements: u64,
    pub bytes: u64,
}

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_tensor_info_init(info: *mut hxp_tensor_info);
    pub fn hxp_tensor_create(
        context: hxp_context,
        dtype: i32,
        rank: u32,
        shape: *const i64,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_tensor_retain(tensor: hxp_tensor, out: *mut hxp_tensor, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tensor_release(tensor: hxp_tensor, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tensor_describe(tensor: hxp_tensor, out: *mut hxp_tensor_info, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tensor_context(tensor: hxp_tensor, out: *mut hxp_context, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tensor_device(tensor: hxp_tensor, out: *mut c_char, out_bytes: u64, error: *mut hxp_error)
    -> hxp_status;
    pub fn hxp_tensor_write(
        tensor: hxp_tensor,
        data: *const c_void,
        data_bytes: u64,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_tensor_read(tensor: hxp_tensor, out: *mut c_void, out_bytes: u64, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tensor_fill(tensor: hxp_tensor, value: f64, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tensor_add_in_place(tensor: hxp_tensor, value: f64, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tensor_digest(
        tensors: *const hxp_tensor,
        count: u64,
        out: *mut c_char,
        out_bytes: u64,
        error: *mut hxp_error,
    ) -> hxp_status;
}
