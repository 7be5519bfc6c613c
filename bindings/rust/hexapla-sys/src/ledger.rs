//! `hexapla/ledger.h`: The ledger: the file that a context maps and writes one record into per call. The header holds
//! the contract; this file holds its shape and nothing else.

use std::ffi::c_char;

pub const HXP_LEDGER_VERSION: u32 = 1;
pub const HXP_LEDGER_HEADER_BYTES: u32 = 4096;
pub const HXP_LEDGER_RECORD_BYTES: u32 = 64;
pub const HXP_LEDGER_CAPACITY: u32 = 1048576;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_ledger_header {
    pub magic: [c_char; 4],
    pub version: u32,
    pub record_bytes: u32,
    pub capacity: u32,
    pub written: u64,
    pub live_bytes: i64,
    pub peak_bytes: i64,
    pub limit_bytes: i64,
    pub live_handles: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct hxp_ledger_record {
    pub time_ns: u64,
    pub handle: u64,
    pub bytes: i64,
    pub live_bytes: i64,
    pub update: u64,
    pub context: u64,
    pub thread: u32,
    pub operation: u16,
    pub status: u16,
    pub sequence: u64,
}

pub const HXP_OPERATION_CONTEXT_CREATE: u16 = 1;
pub const HXP_OPERATION_CONTEXT_RETAIN: u16 = 2;
pub const HXP_OPERATION_CONTEXT_RELEASE: u16 = 3;
pub const HXP_OPERATION_CONTEXT_MARK: u16 = 4;
pub const HXP_OPERATION_CONTEXT_SYNCHRONIZE: u16 = 5;
pub const HXP_OPERATION_CONTEXT_FAIL: u16 = 6;
pub const HXP_OPERATION_PRESSURE: u16 = 7;
pub const HXP_OPERATION_SPILL: u16 = 8;
pub const HXP_OPERATION_TENSOR_CREATE: u16 = 16;
pub const HXP_OPERATION_TENSOR_RETAIN: u16 = 17;
pub const HXP_OPERATION_TENSOR_RELEASE: u16 = 18;
pub const HXP_OPERATION_TENSOR_WRITE: u16 = 19;
pub const HXP_OPERATION_TENSOR_READ: u16 = 20;
pub const HXP_OPERATION_TENSOR_FILL: u16 = 21;
pub const HXP_OPERATION_TENSOR_ADD_IN_PLACE: u16 = 22;
pub const HXP_OPERATION_TENSOR_DIGEST: u16 = 23;
pub const HXP_OPERATION_TENSOR_CONTEXT: u16 = 24;
pub const HXP_OPERATION_TAPE_CREATE: u16 = 32;
pub const HXP_OPERATION_TAPE_RETAIN: u16 = 33;
pub const HXP_OPERATION_TAPE_RELEASE: u16 = 34;
pub const HXP_OPERATION_TAPE_WATCH: u16 = 35;
pub const HXP_OPERATION_TAPE_GRADIENT: u16 = 36;
pub const HXP_OPERATION_TAPE_BACKWARD: u16 = 37;
pub const HXP_OPERATION_TAPE_RESET: u16 = 38;
pub const HXP_OPERATION_EMBEDDING: u16 = 48;
pub const HXP_OPERATION_RMS_NORM: u16 = 49;
pub const HXP_OPERATION_LINEAR: u16 = 50;
pub const HXP_OPERATION_LORA_LINEAR: u16 = 51;
pub const HXP_OPERATION_ROPE: u16 = 52;
pub const HXP_OPERATION_ATTENTION: u16 = 53;
pub const HXP_OPERATION_SWIGLU: u16 = 54;
pub const HXP_OPERATION_ADD: u16 = 55;
pub const HXP_OPERATION_SCALE: u16 = 56;
pub const HXP_OPERATION_LINEAR_CROSS_ENTROPY: u16 = 57;
pub const HXP_OPERATION_MATMUL: u16 = 58;
pub const HXP_OPERATION_SOFTMAX: u16 = 59;
pub const HXP_OPERATION_REDUCE_SUM: u16 = 60;
pub const HXP_OPERATION_TRANSPOSE: u16 = 61;
pub const HXP_OPERATION_RESHAPE: u16 = 62;
pub const HXP_OPERATION_AS_STRIDED: u16 = 63;
pub const HXP_OPERATION_GRADIENT_NORM: u16 = 80;
pub const HXP_OPERATION_GRADIENT_CLIP: u16 = 81;
pub const HXP_OPERATION_ADAMW_STEP: u16 = 82;
pub const HXP_OPERATION_CHECKPOINT_READ: u16 = 96;
pub const HXP_OPERATION_CHECKPOINT_WRITE: u16 = 97;

#[link(name = "hexapla")]
unsafe extern "C" {
    pub safe fn hxp_operation_name(operation: u16) -> *const c_char;
}
