//! The pressure hook: Rust code that core calls before it answers `HXP_OUT_OF_MEMORY`. Separate because it is the one
//! place where C calls Rust, and nothing may unwind there: a panic is caught, kept, and surfaces with the error of
//! the call that met it.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::HookPanic;

/// What a pressure hook is told.
#[derive(Clone, Copy, Debug)]
pub struct Pressure {
    /// What the failing allocation asks for.
    pub need_bytes: u64,
    /// Device bytes in use now.
    pub live_bytes: u64,
    /// The context's limit.
    pub limit_bytes: u64,
}

/// A hook as a context keeps it. `Send` and `Sync`, because it runs on whichever thread makes the failing call.
pub(crate) struct Hook(pub(crate) Box<dyn Fn(Pressure) -> bool + Send + Sync>);

thread_local! {
    // From the hook's panic to the end of the core call around it, which never leaves its thread: context.h says that
    // the hook runs "on the calling thread", and no other Rust code runs in between.
    static PANIC: RefCell<Option<HookPanic>> = const { RefCell::new(None) };
}

/// The panic of a hook during the call that just ended on this thread.
pub(crate) fn take_panic() -> Option<HookPanic> {
    PANIC.take()
}

/// What core calls. `payload` is the address of a [`Hook`] that outlives the context.
pub(crate) unsafe extern "C" fn trampoline(
    payload: *mut c_void,
    need_bytes: u64,
    live_bytes: u64,
    limit_bytes: u64,
) -> i32 {
    // SAFETY: the payload was made by Context::new from an Arc<Hook> that every handle into the context shares, and
    // core calls only while it serves a call on one of them.
    let hook = unsafe { &*payload.cast::<Hook>() };
    let pressure = Pressure { need_bytes, live_bytes, limit_bytes };
    match catch_unwind(AssertUnwindSafe(|| (hook.0)(pressure))) {
        Ok(again) => i32::from(again),
        Err(payload) => {
            PANIC.set(Some(HookPanic(panic_text(payload))));
            0
        }
    }
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no text".to_string());
    // A payload whose own drop panics must not unwind into C either.
    std::mem::forget(payload);
    text
}
