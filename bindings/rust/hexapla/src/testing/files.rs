//! The process's file size limit, for the `write_fails` scenario: a disk that is full at a byte of our choice.

use std::io;

use hexapla_sys::posix;

/// RLIMIT_FSIZE lowered and SIGXFSZ ignored, until dropped.
#[derive(Debug)]
pub struct FileSizeLimit {
    before: (u64, u64),
    handler: usize,
}

impl FileSizeLimit {
    /// Let every write past `bytes` of a file fail.
    ///
    /// # Errors
    /// The operating system's.
    pub fn lower(bytes: u64) -> io::Result<FileSizeLimit> {
        let mut before = posix::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the struct is laid out as on 64-bit Linux and lives during the call.
        answered(unsafe { posix::getrlimit(posix::RLIMIT_FSIZE, &mut before) } == 0)?;
        // SAFETY: ignoring a signal installs no handler of ours.
        let handler = unsafe { posix::signal(posix::SIGXFSZ, posix::SIG_IGN) };
        answered(handler != posix::SIG_ERR)?;
        let limit = FileSizeLimit { before: (before.rlim_cur, before.rlim_max), handler };
        set(bytes.min(before.rlim_max), before.rlim_max)?;
        Ok(limit)
    }
}

impl Drop for FileSizeLimit {
    fn drop(&mut self) {
        // Raising the soft limit to what it was, not above the hard one, is always allowed.
        set(self.before.0, self.before.1).expect("the file size limit can be restored");
        // SAFETY: the handler is the one that an earlier call answered.
        unsafe { posix::signal(posix::SIGXFSZ, self.handler) };
    }
}

fn set(soft: u64, hard: u64) -> io::Result<()> {
    let limit = posix::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the struct is laid out as on 64-bit Linux and lives during the call.
    answered(unsafe { posix::setrlimit(posix::RLIMIT_FSIZE, &limit) } == 0)
}

fn answered(well: bool) -> io::Result<()> {
    if well { Ok(()) } else { Err(io::Error::last_os_error()) }
}
