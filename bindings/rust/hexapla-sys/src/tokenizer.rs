//! `hexapla/tokenizer.h`: The tokenizer: byte-level BPE with NFC. The header holds the contract; this file holds its
//! shape and nothing else.

use std::ffi::c_char;

use crate::status::{hxp_error, hxp_status};

pub type hxp_tokenizer = u64;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_added_token {
    pub struct_size: u32,
    pub id: i32,
    pub special: u32,
    pub text_bytes: u32,
    pub text: *const c_char,
}

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_added_token_init(token: *mut hxp_added_token);
    pub fn hxp_tokenizer_open(folder: *const c_char, out: *mut hxp_tokenizer, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tokenizer_retain(tokenizer: hxp_tokenizer, out: *mut hxp_tokenizer, error: *mut hxp_error)
    -> hxp_status;
    pub fn hxp_tokenizer_release(tokenizer: hxp_tokenizer, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tokenizer_encode(
        tokenizer: hxp_tokenizer,
        text: *const c_char,
        text_bytes: u64,
        ids: *mut i32,
        capacity: u64,
        count_out: *mut u64,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_tokenizer_id(
        tokenizer: hxp_tokenizer,
        text: *const c_char,
        id_out: *mut i32,
        error: *mut hxp_error,
    ) -> hxp_status;
    pub fn hxp_tokenizer_added_count(tokenizer: hxp_tokenizer, out: *mut u64, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_tokenizer_added(
        tokenizer: hxp_tokenizer,
        index: u64,
        out: *mut hxp_added_token,
        error: *mut hxp_error,
    ) -> hxp_status;
}
