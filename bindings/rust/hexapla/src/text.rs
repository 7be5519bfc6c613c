//! Text across the boundary: core's texts end in a zero byte, Rust's do not. Separate because four files need it.

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{Error, Result, Status};

/// A text for core. One with a zero byte inside has no form in C.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    c_bytes(text.as_bytes())
}

/// A path for core.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    c_bytes(path.as_os_str().as_bytes())
}

fn c_bytes(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|error| {
        let message = format!("a zero byte at {} in {:?}", error.nul_position(), String::from_utf8_lossy(bytes));
        Error::new(Status::InvalidArgument, message)
    })
}

/// What stands before the first zero byte of a buffer.
pub(crate) fn until_nul(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer.iter().take_while(|byte| **byte != 0).map(|byte| byte.to_ne_bytes()[0]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text that lives as long as the library; `None` for NULL. Only for what `status.h` and `ledger.h` answer so.
pub(crate) fn library_text(text: *const c_char) -> Option<&'static str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the callers pass what hxp_status_name, hxp_build_info and hxp_build_faults answered, of which status.h
    // says "view, lives as long as the library"; the library is linked in and never unloaded.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_str().expect("core's own texts are ASCII"))
}

/// A text that dies with an object of core's, copied.
///
/// # Safety
/// `text` is a string that ends in a zero byte and lives during the call.
pub(crate) unsafe fn copied(text: *const c_char) -> String {
    // SAFETY: the caller's promise, passed on.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}
