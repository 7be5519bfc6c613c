"""How much device memory a trainer holds, and who says so: core's counters, then the driver, then NVML.

Separate because a figure without its source cannot be compared, and a device that hides process ids (case J3)
must not read as 0. A source that cannot tell hands over to the next; when none can, it is "not available".
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hexapla.process.device import DeviceGauge
from hexapla.protocol import ledger

NOT_AVAILABLE = "not available"
"""In the place of a figure that nobody could give."""

_DRIVER_KINDS = ("drm-resident-vram", "drm-memory-vram", "drm-resident-local0", "drm-total-vram")
_MULTIPLES = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20}


class DeviceSource(Protocol):
    """One way to know. `name` labels its figures."""

    @property
    def name(self) -> str: ...

    def held_bytes(self, pid: int, ledger_path: Path | None) -> int | None:
        """Bytes that the process holds; None when this source cannot tell."""

    def total_bytes(self) -> int | None:
        """Bytes in use on the whole device, whoever holds them; None when this source cannot tell."""


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """bytes: None when nobody could tell. whole_device: per-process memory is not available, and this is the
    device's total."""

    bytes: int | None
    source: str
    whole_device: bool = False

    @property
    def figure(self) -> int | str:
        return NOT_AVAILABLE if self.bytes is None else self.bytes

    @property
    def words(self) -> str:
        """The figure in a sentence."""
        if self.bytes is None:
            return f"device memory is {NOT_AVAILABLE}"
        amount = f"{self.bytes >> 20} MiB by {self.source}"
        if self.whole_device:
            return f"per-process memory is {NOT_AVAILABLE}; the whole device holds {amount}"
        return f"it holds {amount}"


class CoreCounters:
    """Core's own account, from the header of the ledger that the process writes."""

    name = "core's counters"

    def held_bytes(self, pid: int, ledger_path: Path | None) -> int | None:
        header = ledger.read_header(ledger_path) if ledger_path is not None else None
        return header.live_bytes if header is not None else None

    def total_bytes(self) -> int | None:
        return None


class Driver:
    """The kernel driver's account of each client (`drm-resident-…`, `drm-memory-…` of /proc/<pid>/fdinfo).

    NVIDIA's driver keeps none for compute; NVML answers for it.
    """

    name = "the driver"

    def __init__(self, processes: Path = Path("/proc")) -> None:
        self._processes = processes

    def held_bytes(self, pid: int, ledger_path: Path | None) -> int | None:
        clients: dict[str, int] = {}
        with contextlib.suppress(OSError):
            for entry in (self._processes / str(pid) / "fdinfo").iterdir():
                with contextlib.suppress(OSError, ValueError, KeyError):
                    client, held = _client(entry.read_text("utf-8", "replace"))
                    clients[client] = held
        return sum(clients.values()) if clients else None

    def total_bytes(self) -> int | None:
        return None


class Gauged:
    """A device's own library, NVML above all: its processes by id, or at least its total."""

    def __init__(self, name: str, gauge: DeviceGauge) -> None:
        self.name = name
        self._gauge = gauge

    def held_bytes(self, pid: int, ledger_path: Path | None) -> int | None:
        holders = self._gauge.holders()
        return holders.get(pid) if holders is not None else None

    def total_bytes(self) -> int | None:
        return self._gauge.used_bytes()


def sources_of(device: str, gauge: DeviceGauge) -> tuple[DeviceSource, ...]:
    """Who may know the memory of `cpu:N` or `cuda:N`, in order; only a GPU has a library of its own."""
    if device.startswith("cuda"):
        return (CoreCounters(), Driver(), Gauged("NVML", gauge))
    return (CoreCounters(), Driver())


def read_device(pid: int, ledger_path: Path | None, sources: Sequence[DeviceSource]) -> DeviceReading:
    """The first source that knows the process, else the first that knows the device, else nothing."""
    for source in sources:
        held = source.held_bytes(pid, ledger_path)
        if held is not None:
            return DeviceReading(held, source.name)
    for source in sources:
        total = source.total_bytes()
        if total is not None:
            return DeviceReading(total, source.name, whole_device=True)
    return DeviceReading(None, NOT_AVAILABLE)


def _client(text: str) -> tuple[str, int]:
    """One descriptor of a device: its client's id and bytes. Raises KeyError, ValueError for any other."""
    fields = {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
    amounts = [fields[kind] for kind in _DRIVER_KINDS if kind in fields]
    number, _, unit = (amounts or [""])[0].partition(" ")
    return fields["drm-client-id"], int(number) * _MULTIPLES[unit]
