//! A context: one device, its memory account, its workers and its ledger.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

use hexapla_sys as sys;

use crate::error::{Result, Status, check, made};
use crate::handle::{Id, shared_handle};
use crate::library::ensure_abi;
use crate::memory::{self, Memory};
use crate::pressure::{Hook, Pressure, trampoline};
use crate::text::{c_path, c_text, until_nul};

/// How a context is made. `default()` holds core's own defaults.
#[derive(Clone)]
pub struct Options {
    flags: u32,
    threads: u32,
    pressure_retries: u32,
    memory_limit: u64,
    ledger: Option<PathBuf>,
    hook: Option<Arc<Hook>>,
}

impl Default for Options {
    fn default() -> Options {
        let raw = raw_options();
        Options {
            flags: raw.flags,
            threads: raw.threads,
            pressure_retries: raw.pressure_retries,
            memory_limit: raw.memory_limit,
            ledger: None,
            hook: None,
        }
    }
}

impl Options {
    /// Worker threads, 1 … 256. They never change a result.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Options {
        self.threads = threads;
        self
    }

    /// Device bytes that may be live at once; 0 = no limit.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Options {
        self.memory_limit = bytes;
        self
    }

    /// Past the limit, let buffers go to host memory instead of failing.
    #[must_use]
    pub fn spill(mut self, spill: bool) -> Options {
        self.set_flag(sys::HXP_SPILL, spill);
        self
    }

    /// Refuse calls from every thread but the one that makes the context.
    #[must_use]
    pub fn owner_thread(mut self, owner: bool) -> Options {
        self.set_flag(sys::HXP_THREADS_OWNER, owner);
        self
    }

    /// The file to map as the ledger.
    #[must_use]
    pub fn ledger(mut self, path: Option<PathBuf>) -> Options {
        self.ledger = path;
        self
    }

    /// Called before the context answers `HXP_OUT_OF_MEMORY`, on the calling thread. `true`: memory may have come
    /// free, try again; `false`: give up now. Inside it only releases and memory queries work on the context. A hook
    /// that panics gives up, and its panic surfaces as the error's source. The context and all that lives in it keep
    /// the hook alive: a hook that owns one of them is a cycle.
    #[must_use]
    pub fn pressure_hook(mut self, hook: impl Fn(Pressure) -> bool + Send + Sync + 'static) -> Options {
        self.hook = Some(Arc::new(Hook(Box::new(hook))));
        self
    }

    /// Times the hook is called for one allocation.
    #[must_use]
    pub fn pressure_retries(mut self, retries: u32) -> Options {
        self.pressure_retries = retries;
        self
    }

    fn set_flag(&mut self, flag: u32, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    /// The struct for one call; `ledger` must outlive that call, the hook the context.
    fn raw(&self, ledger: Option<&CString>) -> sys::hxp_context_options {
        let mut raw = raw_options();
        raw.flags = self.flags;
        raw.threads = self.threads;
        raw.pressure_retries = self.pressure_retries;
        raw.memory_limit = self.memory_limit;
        raw.ledger_path = ledger.map_or(std::ptr::null(), |path| path.as_ptr());
        if let Some(hook) = &self.hook {
            raw.pressure_hook = Some(trampoline);
            raw.pressure_payload = Arc::as_ptr(hook).cast_mut().cast();
        }
        raw
    }
}

fn raw_options() -> sys::hxp_context_options {
    let mut raw = std::mem::MaybeUninit::uninit();
    // SAFETY: init fills the struct that it is given (context.h: "Fill options with defaults and their size").
    unsafe { sys::hxp_context_options_init(raw.as_mut_ptr()) };
    // SAFETY: initialised by the line above.
    unsafe { raw.assume_init() }
}

/// A share of a context. It ends with its last share, those of its tensors and tapes included.
pub struct Context(pub(crate) Id);

// SAFETY: hexapla.h, "Threads": "Any thread may make any call"; releases "never wait for a running call".
unsafe impl Send for Context {}
// SAFETY: hexapla.h, "Threads": "A context runs its calls one at a time", so shared references need no lock of ours.
// The hook is Send and Sync itself.
unsafe impl Sync for Context {}

shared_handle!(Context, sys::hxp_context_retain, sys::hxp_context_release);

impl Context {
    /// Make a context on "cpu:N" or "cuda:N".
    ///
    /// # Errors
    /// `InvalidArgument`, `Device` (no such device), `Io` (ledger), `OutOfMemory`.
    pub fn new(device: &str, options: &Options) -> Result<Context> {
        ensure_abi()?;
        let device = c_text(device)?;
        let ledger = options.ledger.as_deref().map(c_path).transpose()?;
        let raw = options.raw(ledger.as_ref());
        let value = made(|out, error| {
            // SAFETY: device, raw and the ledger's path live to the end of this function; the hook is kept by the Id
            // below and by every handle made from it, so that it outlives the context.
            unsafe { sys::hxp_context_create(device.as_ptr(), &raw, out, error) }
        })?;
        Ok(Context(Id::new(value, options.hook.clone())))
    }

    /// The device's name, as given to [`Context::new`].
    ///
    /// # Errors
    /// None on a live context.
    pub fn device(&self) -> Result<String> {
        device_of(self.0.value)
    }

    /// The memory account. Never waits for a running call; works inside the pressure hook.
    ///
    /// # Errors
    /// None on a live context.
    pub fn memory(&self) -> Result<Memory> {
        memory::read(|out, error| {
            // SAFETY: out and error point to initialised structs on the stack.
            unsafe { sys::hxp_context_memory(self.0.value, out, error) }
        })
    }

    /// Let the peak start again from the live bytes.
    ///
    /// # Errors
    /// `WrongThread`.
    pub fn reset_peak(&self) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_context_reset_peak(self.0.value, error) })
    }

    /// Stamp the ledger: the records that follow belong to this update.
    ///
    /// # Errors
    /// `WrongThread`, `Busy`.
    pub fn mark(&self, update: u64) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_context_mark(self.0.value, update, error) })
    }

    /// Wait until everything queued on the device is done.
    ///
    /// # Errors
    /// `Device`, `WrongThread`, `Busy`.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_context_synchronize(self.0.value, error) })
    }

    /// For tests: let the nth allocation from now (1 = the next) fail, `persistent`: and every later one. 0 switches
    /// it off.
    ///
    /// # Errors
    /// `WrongThread`, `Busy`.
    pub fn fail_allocation(&self, nth: u64, persistent: bool) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_context_fail_allocation(self.0.value, nth, i32::from(persistent), error) })
    }

    /// For tests: let the next call on this context (releases and queries apart) answer `status` and do nothing else.
    ///
    /// # Errors
    /// `InvalidArgument` for [`Status::Ok`].
    pub fn fail_next(&self, status: Status) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_context_fail_next(self.0.value, status as i32, error) })
    }
}

/// The device's name by a raw id.
pub(crate) fn device_of(id: u64) -> Result<String> {
    let mut name = [0; 32];
    check(|error| {
        // SAFETY: name has the length that is passed with it; "32 are always enough".
        unsafe { sys::hxp_context_device(id, name.as_mut_ptr(), name.len() as u64, error) }
    })?;
    Ok(until_nul(&name))
}
