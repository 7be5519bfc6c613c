//! `hexapla/gate.h`: A gate: a place where a caller blocks in native code, holding no lock. The header holds the
//! contract; this file holds its shape and nothing else.

use crate::status::{hxp_error, hxp_status};

pub type hxp_gate = u64;

#[link(name = "hexapla")]
unsafe extern "C" {
    pub fn hxp_gate_create(out: *mut hxp_gate, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_gate_retain(gate: hxp_gate, out: *mut hxp_gate, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_gate_release(gate: hxp_gate, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_gate_wait(gate: hxp_gate, error: *mut hxp_error) -> hxp_status;
    pub fn hxp_gate_open(gate: hxp_gate, error: *mut hxp_error) -> hxp_status;
}
