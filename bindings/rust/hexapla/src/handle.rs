//! What all handle types have in common: `Clone` is retain, `Drop` is release. A macro, since each kind has calls of
//! its own.
//!
//! The types are not `Send` and `Sync` by the compiler's leave: an id is a plain number, but what it stands for lives
//! in core, so each type says in its own file why it may cross threads, in the header's words.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::pressure::Hook;

/// One id of core's, owned. The marker takes `Send` and `Sync` away until a type claims them.
pub(crate) struct Id {
    pub(crate) value: u64,
    /// The context's pressure hook, which must outlive the context: each owner of something in it keeps it alive.
    pub(crate) hook: Option<Arc<Hook>>,
    _object_in_core: PhantomData<*const ()>,
}

impl Id {
    pub(crate) fn new(value: u64, hook: Option<Arc<Hook>>) -> Id {
        Id { value, hook, _object_in_core: PhantomData }
    }
}

/// `Clone`, `Drop`, `try_clone` and `close` of a handle type: a tuple struct around an [`Id`].
macro_rules! shared_handle {
    ($name:ident, $retain:path, $release:path) => {
        impl $name {
            /// Another owner of the same object: a new id. Fails where `clone` would panic.
            ///
            /// # Errors
            /// What core answers to retain, for instance `HXP_WRONG_THREAD`.
            pub fn try_clone(&self) -> $crate::Result<Self> {
                let value = $crate::error::made(|out, error| {
                    // SAFETY: out and error point to locals of this call chain; the id is checked by core.
                    unsafe { $retain(self.0.value, out, error) }
                })?;
                Ok($name($crate::handle::Id::new(value, self.0.hook.clone())))
            }

            /// Give the share back now, and learn what core says of it. Dropping does the same in silence.
            ///
            /// # Errors
            /// What core answers to release; on a handle that was never tampered with there is none.
            pub fn close(self) -> $crate::Result<()> {
                let mut owner = self;
                let value = std::mem::take(&mut owner.0.value);
                $crate::error::check(|error| {
                    // SAFETY: error points to a local of this call chain; the id is checked by core.
                    unsafe { $release(value, error) }
                })
            }
        }

        impl Clone for $name {
            /// A new id for the same object: each owner releases its own.
            fn clone(&self) -> Self {
                self.try_clone().expect("a live handle can be retained")
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: a NULL error is allowed (hexapla.h, "Errors"); 0, left by `close`, does nothing.
                let status = unsafe { $release(self.0.value, std::ptr::null_mut()) };
                debug_assert_eq!(status, hexapla_sys::HXP_OK, "an owned id is released once");
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, concat!(stringify!($name), "({:#018x})"), self.0.value)
            }
        }
    };
}
pub(crate) use shared_handle;
