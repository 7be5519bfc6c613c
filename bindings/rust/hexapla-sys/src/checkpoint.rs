//! `hexapla/checkpoint.h`: Checkpoints on disk, read and written. The header holds the contract; this file holds its
//! shape and nothing else.

use std::ffi::c_char;

use crate::context::hxp_context;
use crate::status::{hxp_error, hxp_status};
use crate::tensor::hxp_tensor;

pub type hxp_checkpoint = u64;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_checkpoint_entry {
    pub struct_size: u32,
    pub rank: u32,
    pub shape: [i64; 8],
    pub elements: u64,
    pub bytes: u64,
    pub dtype: [c_char; 16],
    pub name: *const c_char,
}

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_checkpoint_entry_init(entry: *mut hxp_checkpoint_entry);
    pub fn hxp_checkpoint_open(path: *const c_char, out: *mut hxp_checkpoint, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_checkpoint_retain(
        checkpoint: hxp_checkpoint,
        out: *mut hxp_checkpoint,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_checkpoint_release(checkpoint: hxp_checkpoint, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_checkpoint_count(checkpoint: hxp_checkpoint, out: *mut u64, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_checkpoint_describe(
        checkpoint: hxp_checkpoint,
        index: u64,
        out: *mut hxp_checkpoint_entry,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_checkpoint_find(
        checkpoint: hxp_checkpoint,
        name: *const c_char,
        index_out: *mut u64,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_checkpoint_read(
        checkpoint: hxp_checkpoint,
        index: u64,
        context: hxp_context,
        out: *mut hxp_tensor,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_checkpoint_metadata(
        checkpoint: hxp_checkpoint,
        key: *const c_char,
        out: *mut c_char,
        out_bytes: u64,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_checkpoint_write(
        path: *const c_char,
        names: *const *const c_char,
        tensors: *const hxp_tensor,
        count: u64,
        metadata_keys: *const *const c_char,
        metadata_values: *const *const c_char,
        metadata_count: u64,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_checkpoint_commit(
        partial: *const c_char,
        final_path: *const c_char,
        error: *mut hxp_error,
    ) -> hxp_status;
}
