"""Is the device back where it started once a trainer has ended (case J2), and who holds it if not.

Separate because nothing here belongs to one kind of device: a gauge reads one, the watch compares. A gauge
that cannot tell says None, never 0 (case J3). Nothing here ends a process.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Protocol

import psutil

from hexapla.process import group
from hexapla.protocol import ledger

SLACK_BYTES = 1 << 20
"""A level within 1 MiB of the start counts as back (case J2)."""

_POLL_SECONDS = 0.05


class DeviceGauge(Protocol):
    """Reads one device. Both are of the moment, in bytes."""

    def used_bytes(self) -> int | None:
        """Memory in use on the device, whoever holds it; None when it cannot be read."""

    def holders(self) -> Mapping[int, int] | None:
        """Bytes by process id; None when the device does not say or its ids are not known here."""


class CoreGauge:
    """Core's own counters: live bytes of each ledger under `folder` that a living process still maps."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def used_bytes(self) -> int | None:
        return sum(self.holders().values())

    def holders(self) -> Mapping[int, int]:
        held: dict[int, int] = {}
        ledgers = {str(path): path for path in self._folder.glob("*/*.bin")}
        for process in psutil.process_iter() if ledgers else ():
            with contextlib.suppress(psutil.Error, OSError):
                mapped = {line.split(maxsplit=5)[-1] for line in _maps(process.pid)} & ledgers.keys()
                headers = (ledger.read_header(ledgers[name]) for name in mapped)
                live = sum(header.live_bytes for header in headers if header is not None)
                if live:
                    held[process.pid] = live
        return held


class NvmlGauge:
    """NVML's numbers for one GPU, through pynvml; every answer is None where it is not installed."""

    def __init__(self, index: int) -> None:
        self._nvml: Any = None
        with contextlib.suppress(ImportError):
            self._nvml = importlib.import_module("pynvml")
        try:
            if self._nvml is not None:
                self._nvml.nvmlInit()
                self._device = self._nvml.nvmlDeviceGetHandleByIndex(index)
        except self._nvml.NVMLError:
            self._nvml = None

    def used_bytes(self) -> int | None:
        if self._nvml is None:
            return None
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._device).used)

    def capacity_bytes(self) -> int | None:
        """Memory that the device has in all."""
        if self._nvml is None:
            return None
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._device).total)

    def holders(self) -> Mapping[int, int] | None:
        if self._nvml is None:
            return None
        running = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._device)
        held = {each.pid: each.usedGpuMemory for each in running}
        # In a container the ids may be the host's, and the bytes may be hidden.
        known = all(psutil.pid_exists(pid) and used is not None for pid, used in held.items())
        return held if held and known else None


def gauge_of(device: str, ledgers: Path) -> DeviceGauge:
    """The gauge for `cpu:N` or `cuda:N`."""
    kind, _, index = device.partition(":")
    return NvmlGauge(int(index or 0)) if kind == "cuda" else CoreGauge(ledgers)


class DeviceWatch:
    """Holds one gauge to its level at the start, taken when no trainer runs. Any thread may call it.

    Neighbours run at the same time, so blame needs a name: a holder that a trainer's process had brought
    is that trainer's; one that nobody is known to have brought is blamed only on who ran alone. Whatever
    is held keeps the next trainer from starting.
    """

    def __init__(self, gauge: DeviceGauge) -> None:
        self._gauge = gauge
        self._start_bytes = gauge.used_bytes()
        self._start_holders = frozenset(gauge.holders() or ())
        self._running: dict[int, set[int]] = {}
        self._claimed: set[int] = set()
        self._blamed: set[int] = set()

    def enter(self, session: int) -> None:
        """A trainer runs; what its processes hold is its own."""
        self._running[session] = set()

    def ending(self, session: int) -> None:
        """It will be told to end: who it brought can be seen for the last time."""
        self._running[session] = _brood(session)
        self._claimed |= self._running[session]

    def leave(self, session: int, seconds: float) -> str:
        """It has ended; what it left held after `seconds`, in words."""
        brought = self._running.pop(session, set())
        ignored = (self._claimed - brought) | self._blamed
        words, held = self._wait(seconds, brought if self._running else None, ignored)
        self._blamed |= held
        return words

    def wait_for_start(self, seconds: float) -> str:
        """Wait until nothing is held beyond the start; what still is after `seconds`, in words."""
        return self._wait(seconds, None, frozenset())[0]

    def _wait(self, seconds: float, brought: Set[int] | None, ignored: Set[int]) -> tuple[str, Set[int]]:
        deadline = time.monotonic() + seconds
        while (found := self._above_start(brought, ignored))[0] and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return found

    def _above_start(self, brought: Set[int] | None, ignored: Set[int]) -> tuple[str, Set[int]]:
        """What is held beyond the start by no running trainer, in words, and by whom.

        brought: nobody else counts, unless it is None. ignored: whom another answers for. Where the device
        does not say who holds it, nothing can be told while any trainer runs.
        """
        used = self._gauge.used_bytes()
        if used is None or self._start_bytes is None or used - self._start_bytes <= SLACK_BYTES:
            return "", frozenset()
        words = f"the device is {(used - self._start_bytes) >> 20} MiB above its level at the start"
        sessions = tuple(self._running)
        holders = self._gauge.holders()
        if holders is None:
            return "" if sessions else f"{words}; per-process memory is not available", frozenset()
        own = {pid for session in sessions for pid in _brood(session)} | self._start_holders | ignored
        suspects = holders.keys() - own if brought is None else (holders.keys() & brought) - own
        held = {pid: holders[pid] for pid in suspects}
        named = ", ".join(f"{_name(pid)} ({pid}) {size >> 20} MiB" for pid, size in sorted(held.items()))
        return f"{words}; held by {named}" if held else "", held.keys()


def _brood(session: int) -> set[int]:
    """A running trainer's session and its children wherever they went: they find each other by parentage."""
    found = {process.pid for process in group.members(session)}
    with contextlib.suppress(psutil.Error):
        found |= {child.pid for child in psutil.Process(session).children(recursive=True)}
    return found


def _maps(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines()


def _name(pid: int) -> str:
    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return "process"
