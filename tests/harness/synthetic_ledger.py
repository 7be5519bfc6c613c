"""Ledger files made by hand, record by record, for tests of whoever reads one."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hexapla.protocol.ledger import OPERATIONS, STATUSES

_NUMBERS = {name: number for number, name in OPERATIONS.items()}


@dataclass(frozen=True)
class Entry:
    """One call. `sequence` None: the right one; 0: a record that is still being written."""

    operation: str
    live: int = 0
    update: int = 0
    status: str = "HXP_OK"
    context: int = 1
    thread: int = 100
    sequence: int | None = None


def write_ledger(  # noqa: PLR0913
    path: Path,
    entries: Sequence[Entry],
    *,
    capacity: int = 1024,
    peak: int = 0,
    left_bytes: int = 0,
    left_handles: int = 0,
) -> Path:
    """A ledger as core would have left it after `entries`; older ones are overwritten past `capacity`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    slots = [bytes(64)] * min(capacity, len(entries))
    for number, entry in enumerate(entries):
        sequence = number + 1 if entry.sequence is None else entry.sequence
        slots[number % capacity] = struct.pack(
            "<QQqqQQIHHQ",
            1_000_000 * (number + 1),
            7,
            0,
            entry.live,
            entry.update,
            entry.context,
            entry.thread,
            _NUMBERS[entry.operation],
            STATUSES.index(entry.status),
            sequence,
        )
    head = struct.pack(
        "<4sIIIQqqqq", b"HXPL", 1, 64, capacity, len(entries), left_bytes, peak, 0, left_handles
    )
    path.write_bytes(head.ljust(4096, b"\0") + b"".join(slots))
    return path
