//! Sizes, offsets and numbers as this binding sees them, by the compiler's own account of [`hexapla_sys`]: the `abi`
//! request holds them against C. Nothing is read from core.

use std::mem::offset_of;

use hexapla_sys as sys;

/// How the compiler lays out one C type. A handle or function pointer has no fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeLayout {
    /// The C name.
    pub name: &'static str,
    /// In bytes.
    pub size: usize,
    /// In bytes.
    pub align: usize,
    /// Name, offset and size of each field, in order.
    pub fields: Vec<(&'static str, usize, usize)>,
}

/// The ABI that this binding was written for.
#[must_use]
pub fn abi_version() -> u32 {
    sys::HXP_ABI_VERSION
}

/// The size of what an accessor of a field points to.
fn field_size<S, F>(_: impl Fn(&S) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! layouts {
    ($($name:ident { $($field:ident),* })*) => {
        vec![$(TypeLayout {
            name: stringify!($name),
            size: size_of::<sys::$name>(),
            align: align_of::<sys::$name>(),
            fields: vec![$((
                stringify!($field),
                offset_of!(sys::$name, $field),
                field_size(|value: &sys::$name| &value.$field),
            )),*],
        }),*]
    };
}

macro_rules! numbers {
    ($($name:ident)*) => {
        vec![$((stringify!($name), i64::from(sys::$name))),*]
    };
}

/// Every struct, handle alias and hook of the public headers.
#[must_use]
pub fn types() -> Vec<TypeLayout> {
    layouts! {
        hxp_status {}
        hxp_context {}
        hxp_tensor {}
        hxp_tape {}
        hxp_checkpoint {}
        hxp_tokenizer {}
        hxp_gate {}
        hxp_pressure_hook {}
        hxp_error { struct_size, status, message }
        hxp_context_options {
            struct_size, flags, threads, pressure_retries, memory_limit, ledger_path, pressure_hook,
            pressure_payload
        }
        hxp_memory {
            struct_size, threads, live_bytes, peak_bytes, limit_bytes, live_handles, spilled_bytes,
            allocations, pressure_calls, pressure_rescues, stale_calls, foreign_calls, injected_failures
        }
        hxp_tensor_info { struct_size, dtype, rank, contiguous, shape, strides, offset, elements, bytes }
        hxp_adamw_options { struct_size, reserved, step, learning_rate, beta1, beta2, epsilon, weight_decay }
        hxp_checkpoint_entry { struct_size, rank, shape, elements, bytes, dtype, name }
        hxp_added_token { struct_size, id, special, text_bytes, text }
        hxp_ledger_header {
            magic, version, record_bytes, capacity, written, live_bytes, peak_bytes, limit_bytes,
            live_handles
        }
        hxp_ledger_record { time_ns, handle, bytes, live_bytes, update, context, thread, operation, status, sequence }
    }
}

/// Every constant of the public headers.
#[must_use]
pub fn constants() -> Vec<(&'static str, i64)> {
    numbers! {
        HXP_ABI_VERSION HXP_OK HXP_INVALID_ARGUMENT HXP_OUT_OF_MEMORY HXP_STALE_HANDLE HXP_WRONG_KIND HXP_WRONG_THREAD
        HXP_BUSY HXP_DEVICE HXP_NO_GRADIENT HXP_IO HXP_FORMAT HXP_NOT_FOUND HXP_UNSUPPORTED HXP_INTERNAL
        HXP_THREADS_OWNER HXP_SPILL HXP_DTYPE_F32 HXP_DTYPE_F16 HXP_DTYPE_BF16 HXP_RANK_MAX HXP_LEDGER_VERSION
        HXP_LEDGER_HEADER_BYTES HXP_LEDGER_RECORD_BYTES HXP_LEDGER_CAPACITY HXP_OPERATION_CONTEXT_CREATE
        HXP_OPERATION_CONTEXT_RETAIN HXP_OPERATION_CONTEXT_RELEASE HXP_OPERATION_CONTEXT_MARK
        HXP_OPERATION_CONTEXT_SYNCHRONIZE HXP_OPERATION_CONTEXT_FAIL HXP_OPERATION_PRESSURE HXP_OPERATION_SPILL
        HXP_OPERATION_TENSOR_CREATE HXP_OPERATION_TENSOR_RETAIN HXP_OPERATION_TENSOR_RELEASE
        HXP_OPERATION_TENSOR_WRITE HXP_OPERATION_TENSOR_READ HXP_OPERATION_TENSOR_FILL
        HXP_OPERATION_TENSOR_ADD_IN_PLACE HXP_OPERATION_TENSOR_DIGEST HXP_OPERATION_TENSOR_CONTEXT
        HXP_OPERATION_TAPE_CREATE HXP_OPERATION_TAPE_RETAIN HXP_OPERATION_TAPE_RELEASE HXP_OPERATION_TAPE_WATCH
        HXP_OPERATION_TAPE_GRADIENT HXP_OPERATION_TAPE_BACKWARD HXP_OPERATION_TAPE_RESET HXP_OPERATION_EMBEDDING
        HXP_OPERATION_RMS_NORM HXP_OPERATION_LINEAR HXP_OPERATION_LORA_LINEAR HXP_OPERATION_ROPE
        HXP_OPERATION_ATTENTION HXP_OPERATION_SWIGLU HXP_OPERATION_ADD HXP_OPERATION_SCALE
        HXP_OPERATION_LINEAR_CROSS_ENTROPY HXP_OPERATION_MATMUL HXP_OPERATION_SOFTMAX HXP_OPERATION_REDUCE_SUM
        HXP_OPERATION_TRANSPOSE HXP_OPERATION_RESHAPE HXP_OPERATION_AS_STRIDED HXP_OPERATION_GRADIENT_NORM
        HXP_OPERATION_GRADIENT_CLIP HXP_OPERATION_ADAMW_STEP HXP_OPERATION_CHECKPOINT_READ
        HXP_OPERATION_CHECKPOINT_WRITE
    }
}
