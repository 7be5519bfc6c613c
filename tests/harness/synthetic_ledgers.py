"""Ledgers written by hand: a header and a few records, as core would leave them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from hexapla.protocol.ledger import HEADER_BYTES, OPERATIONS, STATUSES

_NUMBERS = {name: number for number, name in OPERATIONS.items()}


@dataclass(frozen=True)
class Entry:
    """One call: operation by name, the id it was about, the update, OS thread and status."""

    operation: str
    handle: int = 0
    update: int = 1
    thread: int = 1
    status: str = "HXP_OK"


def write_ledger(path: Path, entries: list[Entry]) -> Path:
    """The file, as a context without live bytes leaves it."""
    header = struct.pack("<4sIIIQqqqq", b"HXPL", 1, 64, 1 << 20, len(entries), 0, 0, 0, 0)
    with path.open("wb") as file:
        file.write(header.ljust(HEADER_BYTES, b"\0"))
        for number, entry in enumerate(entries, 1):
            status = STATUSES.index(entry.status)
            operation = _NUMBERS[entry.operation]
            record = (number, entry.handle, 0, 0, entry.update, 1, entry.thread, operation, status, number)
            file.write(struct.pack("<QQqqQQIHHQ", *record))
    return path
