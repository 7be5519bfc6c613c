"""A tape: an explicit record of operations, and the way back through it.

Separate because there is no gradient mode: an operation is given the tape that records it, or None.
"""

from __future__ import annotations

from hexapla_core.safe.context import Context
from hexapla_core.safe.errors import call, make
from hexapla_core.safe.handle import Handle, id_of
from hexapla_core.safe.tensor import Tensor
from hexapla_core.sys import lib


class Tape(Handle):
    """A record of operations. It shares what it records until backward, reset or its end."""

    __slots__ = ()

    _retain = lib.hxp_tape_retain
    _release = lib.hxp_tape_release

    def __init__(self, context: Context) -> None:
        """Make an empty tape."""
        self._own(make(lib.hxp_tape_create, context._id))

    def watch(self, tensor: Tensor, gradient: Tensor | None = None) -> None:
        """Ask for the gradient of a tensor: backward ADDS to `gradient` (None: one of zeros, made here)."""
        call(lib.hxp_tape_watch, self._id, tensor._id, id_of(gradient))

    def gradient(self, tensor: Tensor) -> Tensor:
        """A new owner of the gradient of a watched tensor. Raises NoGradient."""
        return Tensor._adopt(make(lib.hxp_tape_gradient, self._id, tensor._id))

    def backward(self, output: Tensor, incoming: Tensor | None = None) -> None:
        """Go back from `output`. incoming: the gradient there, of its shape; None: ones. The records are gone
        afterwards, also after a failure. Raises NoGradient, InvalidArgument, OutOfMemory."""
        call(lib.hxp_tape_backward, self._id, output._id, id_of(incoming))

    def reset(self) -> None:
        """Drop the records without going back; watched tensors stay watched."""
        call(lib.hxp_tape_reset, self._id)
