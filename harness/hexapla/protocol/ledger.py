"""Core's ledger as seen from outside (PROTOCOL, "Ledger"): live, and after a crash.

Separate because it reads another process's memory-mapped file: nothing here may trust its
contents, and a file that is absent, short or torn is an answer (None, or fewer calls), not an error.
In `protocol`, not beside the process that it watches, because reports read it too.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 4096
_HEADER = struct.Struct("<4sIIIQqqqq")
_RECORD = struct.Struct("<QQqqQQIHHQ")
_NUMPY_RECORD = np.dtype(
    [
        ("time_ns", "<u8"),
        ("handle", "<u8"),
        ("bytes", "<i8"),
        ("live_bytes", "<i8"),
        ("update", "<u8"),
        ("context", "<u8"),
        ("thread", "<u4"),
        ("operation", "<u2"),
        ("status", "<u2"),
        ("sequence", "<u8"),
    ]
)

OPERATIONS = {
    1: "context_create",
    2: "context_retain",
    3: "context_release",
    4: "context_mark",
    5: "context_synchronize",
    6: "context_fail",
    7: "pressure",
    8: "spill",
    16: "tensor_create",
    17: "tensor_retain",
    18: "tensor_release",
    19: "tensor_write",
    20: "tensor_read",
    21: "tensor_fill",
    22: "tensor_add_in_place",
    23: "tensor_digest",
    24: "tensor_context",
    32: "tape_create",
    33: "tape_retain",
    34: "tape_release",
    35: "tape_watch",
    36: "tape_gradient",
    37: "tape_backward",
    38: "tape_reset",
    48: "embedding",
    49: "rms_norm",
    50: "linear",
    51: "lora_linear",
    52: "rope",
    53: "attention",
    54: "swiglu",
    55: "add",
    56: "scale",
    57: "linear_cross_entropy",
    58: "matmul",
    59: "softmax",
    60: "reduce_sum",
    61: "transpose",
    62: "reshape",
    63: "as_strided",
    80: "gradient_norm",
    81: "gradient_clip",
    82: "adamw_step",
    96: "checkpoint_read",
    97: "checkpoint_write",
}
"""Names of the operations, as hexapla/ledger.h numbers them."""

STATUSES = (
    "HXP_OK",
    "HXP_INVALID_ARGUMENT",
    "HXP_OUT_OF_MEMORY",
    "HXP_STALE_HANDLE",
    "HXP_WRONG_KIND",
    "HXP_WRONG_THREAD",
    "HXP_BUSY",
    "HXP_DEVICE",
    "HXP_NO_GRADIENT",
    "HXP_IO",
    "HXP_FORMAT",
    "HXP_NOT_FOUND",
    "HXP_UNSUPPORTED",
    "HXP_INTERNAL",
)
"""Names of the statuses by number, as hexapla/status.h has them."""


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


def read_records(path: Path) -> npt.NDArray[np.void]:
    """All records that the ring still holds, oldest first; torn ones are left out. Empty without a ledger."""
    header = read_header(path)
    if header is None:
        return np.empty(0, _NUMPY_RECORD)
    bytes_whole = (path.stat().st_size - HEADER_BYTES) // _RECORD.size * _RECORD.size
    if bytes_whole <= 0:
        return np.empty(0, _NUMPY_RECORD)
    ring = np.fromfile(path, _NUMPY_RECORD, count=bytes_whole // _RECORD.size, offset=HEADER_BYTES)
    last = header.records_written
    whole = (ring["sequence"] > max(0, last - header.capacity)) & (ring["sequence"] <= last)
    return ring[whole][np.argsort(ring["sequence"][whole], kind="stable")]


def read_since(path: Path, seen: int) -> tuple[npt.NDArray[np.void], int]:
    """What was written behind the first `seen` records, and how many are behind the reader now.

    It stops before a record that is still being written. Records that the ring has overwritten are missing
    from the first and counted in the second. No ledger (any more): nothing.
    """
    nothing = np.empty(0, _NUMPY_RECORD)
    header = read_header(path)
    if header is None or header.records_written <= seen:
        return nothing, seen
    written, capacity = header.records_written, header.capacity
    first = max(seen, written - capacity)
    cut = min(written, (first // capacity + 1) * capacity)  # where the ring starts again
    try:
        records = np.concatenate(
            [_read_slots(path, first % capacity, cut - first), _read_slots(path, 0, written - cut)]
        )
    except OSError:
        return nothing, seen
    expected = np.arange(first + 1, first + 1 + len(records), dtype=np.uint64)
    unfinished = np.flatnonzero(records["sequence"] < expected)
    end = int(unfinished[0]) if len(unfinished) else len(records)
    whole = records["sequence"][:end] == expected[:end]
    return records[:end][whole], first + end


def _read_slots(path: Path, slot: int, count: int) -> npt.NDArray[np.void]:
    if count == 0:
        return np.empty(0, _NUMPY_RECORD)
    return np.fromfile(path, _NUMPY_RECORD, count=count, offset=HEADER_BYTES + slot * _RECORD.size)
