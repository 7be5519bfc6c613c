//! Raw ids and the process's limits, for tests and the trainer's `probe` and `abi` requests alone: what Rust forbids
//! everywhere else must be tried somewhere. A program that trains a model needs none of it.

mod files;
mod layout;

use hexapla_sys as sys;

use crate::context;
use crate::error::{Result, check};
use crate::tensor::{self, Tensor};

pub use files::FileSizeLimit;
pub use layout::{TypeLayout, abi_version, constants, types};

/// A tensor's id without its owner: whoever holds it must [`release_tensor`] it.
#[must_use]
pub fn into_raw(tensor: Tensor) -> u64 {
    let mut tensor = tensor;
    std::mem::take(&mut tensor.0.value)
}

/// A tensor's id, still owned by the tensor.
#[must_use]
pub fn raw_id(tensor: &Tensor) -> u64 {
    tensor.0.value
}

/// Release an id, whatever it stands for.
///
/// # Errors
/// `StaleHandle`, `WrongKind`.
pub fn release_tensor(id: u64) -> Result<()> {
    // SAFETY: core checks every id (hexapla.h, "Handles"); error points to a live struct.
    check(|error| unsafe { sys::hxp_tensor_release(id, error) })
}

/// Read a tensor by its id.
///
/// # Errors
/// `StaleHandle`, `WrongKind`.
pub fn read_tensor(id: u64) -> Result<Vec<f32>> {
    tensor::read_of(id)
}

/// Ask for a context's device by an id.
///
/// # Errors
/// `StaleHandle`, `WrongKind`.
pub fn context_device(id: u64) -> Result<String> {
    context::device_of(id)
}
