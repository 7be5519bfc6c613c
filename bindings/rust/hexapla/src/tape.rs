//! A tape: an explicit record of operations, and the way back through it.

use hexapla_sys as sys;

use crate::context::Context;
use crate::error::{Result, check, made};
use crate::handle::{Id, shared_handle};
use crate::tensor::Tensor;

/// A share of a tape. An operation given a tape is recorded on it if one of its inputs needs a gradient there.
pub struct Tape(pub(crate) Id);

// SAFETY: hexapla.h, "Threads": "Any thread may make any call"; a tape remembers nothing about the thread that
// recorded.
unsafe impl Send for Tape {}
// SAFETY: hexapla.h, "Threads": "A context runs its calls one at a time", recording and backward included.
unsafe impl Sync for Tape {}

shared_handle!(Tape, sys::hxp_tape_retain, sys::hxp_tape_release);

impl Tape {
    /// Make an empty tape.
    ///
    /// # Errors
    /// `WrongThread`, `Busy`.
    pub fn new(context: &Context) -> Result<Tape> {
        // SAFETY: out and error point to locals of this call chain.
        let value = made(|out, error| unsafe { sys::hxp_tape_create(context.0.value, out, error) })?;
        Ok(Tape(Id::new(value, context.0.hook.clone())))
    }

    /// Ask for the gradient of a tensor. Backward adds to what `gradient` holds; without one the tape makes its own,
    /// of zeros.
    ///
    /// # Errors
    /// `InvalidArgument` (another shape, gaps), `OutOfMemory`.
    pub fn watch(&self, tensor: &Tensor, gradient: Option<&Tensor>) -> Result<()> {
        let gradient = gradient.map_or(0, |tensor| tensor.0.value);
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_tape_watch(self.0.value, tensor.0.value, gradient, error) })
    }

    /// The gradient of a watched tensor: another owner of it.
    ///
    /// # Errors
    /// `NoGradient` when the tensor is not watched.
    pub fn gradient(&self, tensor: &Tensor) -> Result<Tensor> {
        let value = made(|out, error| {
            // SAFETY: out and error point to locals of this call chain.
            unsafe { sys::hxp_tape_gradient(self.0.value, tensor.0.value, out, error) }
        })?;
        Ok(tensor.sibling(value))
    }

    /// Go back from `output` through the records, newest first, adding into the watched tensors' gradients.
    /// `incoming` is the gradient at `output`, ones without it. The records are gone afterwards, also after a
    /// failure.
    ///
    /// # Errors
    /// `NoGradient` (output is not on the tape), `InvalidArgument`, `OutOfMemory`.
    pub fn backward(&self, output: &Tensor, incoming: Option<&Tensor>) -> Result<()> {
        let incoming = incoming.map_or(0, |tensor| tensor.0.value);
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_tape_backward(self.0.value, output.0.value, incoming, error) })
    }

    /// Drop the records and what they keep alive, without going back. Watched tensors stay watched.
    ///
    /// # Errors
    /// `WrongThread`, `Busy`.
    pub fn reset(&self) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_tape_reset(self.0.value, error) })
    }
}
