//! A gate: a place where a caller blocks in native code, holding no lock.

use hexapla_sys as sys;

use crate::error::{Result, check, made};
use crate::handle::{Id, shared_handle};
use crate::library::ensure_abi;

/// A share of a gate. It opens once, for good; when its last share goes it opens by itself.
pub struct Gate(pub(crate) Id);

// SAFETY: hexapla.h, "Threads": "Any thread may make any call".
unsafe impl Send for Gate {}
// SAFETY: gate.h: `hxp_gate_wait` blocks "without a lock" so that others may open the gate meanwhile: that is its
// purpose.
unsafe impl Sync for Gate {}

shared_handle!(Gate, sys::hxp_gate_retain, sys::hxp_gate_release);

impl Gate {
    /// Make a closed gate.
    ///
    /// # Errors
    /// `Unsupported` when the library is of another ABI.
    pub fn new() -> Result<Gate> {
        ensure_abi()?;
        // SAFETY: out and error point to locals of this call chain.
        let value = made(|out, error| unsafe { sys::hxp_gate_create(out, error) })?;
        Ok(Gate(Id::new(value, None)))
    }

    /// Block until the gate is open, in native code, without time limit.
    ///
    /// # Errors
    /// None on a live gate.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_gate_wait(self.0.value, error) })
    }

    /// Open the gate for good and wake every waiter.
    ///
    /// # Errors
    /// None on a live gate.
    pub fn open(&self) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_gate_open(self.0.value, error) })
    }
}
