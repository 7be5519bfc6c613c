"""Core's ledger as seen from outside (PROTOCOL, "Ledger"): live, and after a crash.

Separate because it reads another process's memory-mapped file: nothing here may trust its
contents, and a file that is absent, short or torn is an answer (None, or fewer calls), not an error.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

HEADER_BYTES = 4096
_HEADER = struct.Struct("<4sIIIQqqqq")
_RECORD = struct.Struct("<QQqqQQIHHQ")


@dataclass(frozen=True, slots=True)
class LedgerHeader:
    """Totals that never wrap; bytes are device memory of the context's device."""

    capacity: int
    records_written: int
    live_bytes: int
    peak_bytes: int
    limit_bytes: int
    handles_live: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call into core. time_ns: the trainer's monotonic clock."""

    time_ns: int
    handle: int
    bytes: int
    live_bytes: int
    update: int
    context: int
    thread: int
    operation: int
    status: int
    sequence: int


def read_header(path: Path) -> LedgerHeader | None:
    """The header, or None where there is no ledger (yet)."""
    try:
        with path.open("rb") as file:
            raw = file.read(_HEADER.size)
    except OSError:
        return None
    if len(raw) < _HEADER.size:
        return None
    magic, version, record_bytes, capacity, *totals = _HEADER.unpack(raw)
    if magic != b"HXPL" or version != 1 or record_bytes != _RECORD.size or capacity == 0:
        return None
    return LedgerHeader(capacity, *totals)


def last_calls(path: Path, count: int) -> list[Call]:
    """The last calls, oldest first; torn and overwritten records are left out."""
    header = read_header(path)
    if header is None:
        return []
    first = max(0, header.records_written - min(count, header.capacity))
    calls = []
    with path.open("rb") as file:
        for number in range(first, header.records_written):
            file.seek(HEADER_BYTES + number % header.capacity * _RECORD.size)
            raw = file.read(_RECORD.size)
            if len(raw) == _RECORD.size:
                calls.append(Call(*_RECORD.unpack(raw)))
    return [call for call in calls if call.time_ns]
