//! Who the loaded library is. Separate because it needs no handle, and every constructor asks it whether the ABI fits.

use hexapla_sys as sys;

use crate::error::{Error, Result, Status};
use crate::text::library_text;

/// One line that names version, commit, compiler, CPU, BLAS and its kernel, backends and compiled-in faults.
#[must_use]
pub fn build_info() -> &'static str {
    library_text(sys::hxp_build_info()).unwrap_or_default()
}

/// The fault switches compiled into the library; none in a normal build.
#[must_use]
pub fn build_faults() -> Vec<&'static str> {
    let faults = library_text(sys::hxp_build_faults()).unwrap_or_default();
    faults.split(',').filter(|fault| !fault.is_empty()).collect()
}

/// Refuse a library of another ABI than the one that `hexapla_sys` declares. Every call that makes a first handle asks.
pub(crate) fn ensure_abi() -> Result<()> {
    match sys::hxp_abi_version() {
        sys::HXP_ABI_VERSION => Ok(()),
        other => Err(Error::new(
            Status::Unsupported,
            format!("libhexapla speaks ABI {other}, this binding was written for {}", sys::HXP_ABI_VERSION),
        )),
    }
}
