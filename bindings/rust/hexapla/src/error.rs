//! Statuses and errors: the one place where a status of core becomes an error of Rust. Everything else calls [`check`].

use std::fmt;

use hexapla_sys as sys;

use crate::pressure;
use crate::text::until_nul;

/// What every call of this crate that can fail answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Core's status codes (`hexapla/status.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Status {
    /// Nothing went wrong. No [`Error`] carries it.
    Ok = sys::HXP_OK,
    /// A shape, size, index or text is wrong; the message names it and its value.
    InvalidArgument = sys::HXP_INVALID_ARGUMENT,
    /// The context's limit or the device is full; the message names need, live, limit and live handles.
    OutOfMemory = sys::HXP_OUT_OF_MEMORY,
    /// The id was released already, or was never given out.
    StaleHandle = sys::HXP_STALE_HANDLE,
    /// The id is of another kind.
    WrongKind = sys::HXP_WRONG_KIND,
    /// A context made with [`Options::owner_thread`](crate::Options::owner_thread) was called from another thread.
    WrongThread = sys::HXP_WRONG_THREAD,
    /// A call from inside the context's own pressure hook.
    Busy = sys::HXP_BUSY,
    /// No such device, or it refused.
    Device = sys::HXP_DEVICE,
    /// Backward is not defined here: nothing recorded, or the tensor is not watched.
    NoGradient = sys::HXP_NO_GRADIENT,
    /// The operating system refused a file.
    Io = sys::HXP_IO,
    /// A file's bytes break their format.
    Format = sys::HXP_FORMAT,
    /// No tensor, token or key of that name.
    NotFound = sys::HXP_NOT_FOUND,
    /// Well formed, but this core does not do it.
    Unsupported = sys::HXP_UNSUPPORTED,
    /// A bug in core.
    Internal = sys::HXP_INTERNAL,
}

impl Status {
    /// All of them, by number.
    pub const ALL: [Status; 14] = [
        Status::Ok,
        Status::InvalidArgument,
        Status::OutOfMemory,
        Status::StaleHandle,
        Status::WrongKind,
        Status::WrongThread,
        Status::Busy,
        Status::Device,
        Status::NoGradient,
        Status::Io,
        Status::Format,
        Status::NotFound,
        Status::Unsupported,
        Status::Internal,
    ];

    /// The status's name in C ("HXP_OK", …).
    #[must_use]
    pub fn name(self) -> &'static str {
        crate::text::library_text(sys::hxp_status_name(self as i32)).expect("core names each of its statuses")
    }

    /// A number that core answered. Panics on one that `status.h` does not list: that is a bug, not an outcome.
    fn of(code: sys::hxp_status) -> Status {
        let known = Status::ALL.into_iter().find(|status| *status as i32 == code);
        known.unwrap_or_else(|| panic!("core answered the status {code}, which its header does not list"))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A call that failed: core's status, and its message byte for byte.
#[derive(Clone, Debug)]
pub struct Error {
    status: Status,
    message: String,
    hook_panic: Option<HookPanic>,
}

impl Error {
    pub(crate) fn new(status: Status, message: String) -> Error {
        Error { status, message, hook_panic: None }
    }

    /// Why the call failed.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Core's text: one line, with the values.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The panic of the pressure hook that made the call fail, if one did. It also is the error's `source`.
    #[must_use]
    pub fn hook_panic(&self) -> Option<&HookPanic> {
        self.hook_panic.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.status, self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.hook_panic.as_ref().map(|panic| panic as _)
    }
}

/// A pressure hook panicked. Nothing may unwind through C: the panic was caught there, and surfaces with the call's
/// error.
#[derive(Clone, Debug)]
pub struct HookPanic(pub(crate) String);

impl fmt::Display for HookPanic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the pressure hook panicked: {}", self.0)
    }
}

impl std::error::Error for HookPanic {}

/// Make a call with an error struct to fill, and turn its status into a `Result`.
pub(crate) fn check(call: impl FnOnce(*mut sys::hxp_error) -> sys::hxp_status) -> Result<()> {
    let mut error =
        sys::hxp_error { struct_size: size_of::<sys::hxp_error>() as u32, status: sys::HXP_OK, message: [0; 1016] };
    let code = call(&mut error);
    // Taken in any case: a context that spills may succeed after its hook panicked, and the next call is not to blame
    // for that.
    let hook_panic = pressure::take_panic();
    match Status::of(code) {
        Status::Ok => Ok(()),
        status => Err(Error { status, message: until_nul(&error.message), hook_panic }),
    }
}

/// Make a call that hands out an id.
pub(crate) fn made(call: impl FnOnce(*mut u64, *mut sys::hxp_error) -> sys::hxp_status) -> Result<u64> {
    let mut id = 0;
    check(|error| call(&mut id, error))?;
    Ok(id)
}
