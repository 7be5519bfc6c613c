"""A gate: a place where a thread blocks in native code, holding no lock, the interpreter's neither."""

from __future__ import annotations

from hexapla_core.safe.errors import call, make
from hexapla_core.safe.handle import Handle
from hexapla_core.sys import lib


class Gate(Handle):
    """Closed when made; opened once, for good."""

    __slots__ = ()

    _retain = lib.hxp_gate_retain
    _release = lib.hxp_gate_release

    def __init__(self) -> None:
        """Make a closed gate."""
        self._own(make(lib.hxp_gate_create))

    def wait(self) -> None:
        """Block until the gate is open, without time limit."""
        call(lib.hxp_gate_wait, self._id)

    def open(self) -> None:
        """Open the gate and wake every waiter."""
        call(lib.hxp_gate_open, self._id)
