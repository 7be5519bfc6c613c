"""What core's ledgers in a results folder say of one implementation: live bytes over time, last calls.

Separate because the ledger is core's own word, not the trainer's: it is there after a crash, and it is the
only source here for device memory. Where there is no ledger nothing is shown, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hexapla.protocol.ledger import OPERATIONS, STATUSES, Call, last_calls, read_records

LAST_CALLS = 10
# The run to draw: the trajectory's, else the first whole one of another level.
_RUNS = ("train", "memory-plain", "threads-pinned", "ownership-ends")
_POINTS = 240


@dataclass(frozen=True)
class Device:
    """live_mib: MiB by ms since the first record of the run's ledger, the largest of each stretch of time.
    drawn: the request of that run. calls: the last ones of the ledger written last, that of `request`."""

    live_mib: Mapping[int, float] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    request: str = ""
    drawn: str = ""


def read_device(folder: Path) -> Device:
    """Read `ledger/<implementation>/`; an absent folder gives an empty Device."""
    try:
        ledgers = sorted(folder.glob("*.bin"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    except OSError:
        return Device()
    if not ledgers:
        return Device()
    calls = tuple(last_calls(ledgers[-1], LAST_CALLS))
    runs = ((name, _live(folder / f"{name}.bin")) for name in _RUNS)
    drawn, live = next(((name, live) for name, live in runs if live), ("", {}))
    return Device(live, calls, ledgers[-1].stem, drawn)


def operation_name(call: Call) -> str:
    return OPERATIONS.get(call.operation, f"operation {call.operation}")


def status_name(call: Call) -> str:
    return STATUSES[call.status] if call.status < len(STATUSES) else f"status {call.status}"


def _live(path: Path) -> dict[int, float]:
    records = read_records(path)
    if len(records) == 0:
        return {}
    since = (records["time_ns"].astype(np.int64) - np.int64(records["time_ns"][0])) // 1_000_000
    stretch = max(1, int(since.max()) // _POINTS)
    largest: dict[int, float] = {}
    for start in np.unique(since // stretch):
        inside = records["live_bytes"][since // stretch == start]
        largest[int(start) * stretch] = float(inside.max()) / 2**20
    return largest
