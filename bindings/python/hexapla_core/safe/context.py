"""A context: one device, its memory account, its workers and its ledger; and the pressure hook.

Separate because the hook is the one place where core calls Python. A hook's exception never passes through
C: it is kept aside and becomes the cause of the OutOfMemory that the call then raises.
"""

from __future__ import annotations

import gc
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hexapla_core.safe.errors import call, hook_errors, make, text
from hexapla_core.safe.handle import Forgotten, Handle
from hexapla_core.sys import ffi, lib

# (need_bytes, live_bytes, limit_bytes) -> whether memory may have come free.
PressureHook = Callable[[int, int, int], bool]


@dataclass(frozen=True)
class Memory:
    """A memory account, of one context or of the process; fields as in `hxp_memory`, in bytes or counts."""

    threads: int
    live_bytes: int
    peak_bytes: int
    limit_bytes: int
    live_handles: int
    spilled_bytes: int
    allocations: int
    pressure_calls: int
    pressure_rescues: int
    stale_calls: int
    foreign_calls: int
    injected_failures: int


def process_memory() -> Memory:
    """The account of all contexts, and of every handle of every kind, in this process."""
    return _memory(lib.hxp_process_memory)


def _memory(function: Any, *arguments: int) -> Memory:
    out = ffi.new("hxp_memory *")
    lib.hxp_memory_init(out)
    call(function, *arguments, out)
    return Memory(**{name: int(getattr(out, name)) for name in Memory.__dataclass_fields__})


def collect_garbage(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
    """The pressure hook of a context that is given none: collect, and say whether forgotten handles went.

    `gc.collect` does nothing while another thread collects; a short wait lets that thread come to its end.
    """
    before = Forgotten.count
    for pause_s in (0.0, 0.001, 0.005):
        if pause_s:
            time.sleep(pause_s)
        gc.collect()
        if Forgotten.count != before:
            return True
    return False


class _Hook:
    """A hook with the number that core carries for it; it lives as long as a Context that was given it."""

    def __init__(self, function: PressureHook) -> None:
        self.function = function
        self.number = next(_numbers)
        _hooks[self.number] = self


_numbers = itertools.count(1)
_hooks: weakref.WeakValueDictionary[int, _Hook] = weakref.WeakValueDictionary()


@ffi.callback("int32_t(void *, uint64_t, uint64_t, uint64_t)")  # type: ignore[untyped-decorator]
def _pressure(payload: Any, need_bytes: int, live_bytes: int, limit_bytes: int) -> int:
    try:
        # A context can outlive its wrappers through its tensors: then the collector is asked.
        hook = _hooks.get(int(ffi.cast("uintptr_t", payload)))
        function = collect_garbage if hook is None else hook.function
        return int(bool(function(need_bytes, live_bytes, limit_bytes)))
    except BaseException as error:  # nothing may unwind through C; the call raises it as a cause
        hook_errors[threading.get_ident()] = error
        return 0


class Context(Handle):
    """One device. Everything made on it holds a share of it, so it may be closed before its tensors."""

    __slots__ = ("_hook",)

    _retain = lib.hxp_context_retain
    _release = lib.hxp_context_release
    _hook: _Hook | None

    def __init__(  # noqa: PLR0913 (each has a default and a name)
        self,
        device: str = "cpu:0",
        *,
        threads: int = 1,
        memory_limit: int = 0,
        spill: bool = False,
        owner_thread_only: bool = False,
        ledger: str | os.PathLike[str] | None = None,
        pressure_hook: PressureHook | None = collect_garbage,
    ) -> None:
        """Open a device.

        device: "cpu:N" or "cuda:N". threads: workers, never changes a result. memory_limit: bytes, 0 = none.
        spill: past the limit go to host memory. ledger: file to record calls in. pressure_hook: asked before
        OutOfMemory is raised; None = nobody. Raises DeviceError, InvalidArgument, FileError, OutOfMemory.
        """
        self._hook = None
        options = ffi.new("hxp_context_options *")
        lib.hxp_context_options_init(options)
        options.flags = (lib.HXP_SPILL if spill else 0) | (lib.HXP_THREADS_OWNER if owner_thread_only else 0)
        options.threads = threads
        options.memory_limit = memory_limit
        path = None if ledger is None else ffi.new("char[]", os.fsencode(ledger))
        options.ledger_path = ffi.NULL if path is None else path
        if pressure_hook is not None:
            options.pressure_hook = _pressure
            if pressure_hook is not collect_garbage:
                self._hook = _Hook(pressure_hook)
                options.pressure_payload = ffi.cast("void *", self._hook.number)
        self._own(make(lib.hxp_context_create, device.encode("utf-8"), options))

    @classmethod
    def _adopt(cls, identifier: int) -> Context:
        context = super()._adopt(identifier)
        context._hook = None
        return context

    def copy(self) -> Context:
        """A second owner of the same context."""
        context = super().copy()
        context._hook = self._hook
        return context

    @property
    def device(self) -> str:
        """The device's name, as it was opened."""
        return text(lib.hxp_context_device, self._id)

    def memory(self) -> Memory:
        """The context's memory account; never waits for a running call."""
        return _memory(lib.hxp_context_memory, self._id)

    def reset_peak(self) -> None:
        """Let `peak_bytes` start again from `live_bytes`."""
        call(lib.hxp_context_reset_peak, self._id)

    def mark(self, update: int) -> None:
        """Stamp the ledger: the records that follow belong to this update."""
        call(lib.hxp_context_mark, self._id, update)

    def synchronize(self) -> None:
        """Wait until everything queued on the device is done."""
        call(lib.hxp_context_synchronize, self._id)

    def fail_allocation(self, nth: int, *, persistent: bool = False) -> None:
        """For tests: let the nth allocation from now fail (0 = none), with `persistent` all later ones."""
        call(lib.hxp_context_fail_allocation, self._id, nth, int(persistent))

    def fail_next(self, status: str) -> None:
        """For tests: let the next call on this context answer the status of this name."""
        call(lib.hxp_context_fail_next, self._id, getattr(lib, status))
