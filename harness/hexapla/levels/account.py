"""What a ledger says of device memory: live and peak bytes of every update, pressure, spills, what was left.

Separate because the level `memory` believes core's own records, not the trainer. It judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hexapla.protocol.ledger import OPERATIONS, STATUSES, read_header, read_records

_NUMBERS = {name: number for number, name in OPERATIONS.items()}
_OUT_OF_MEMORY = STATUSES.index("HXP_OUT_OF_MEMORY")


@dataclass(frozen=True, slots=True)
class Account:
    """Device memory of one request, in bytes. All is None or empty where there is no ledger.

    live: by update, as it stood when the update began. peaks: by update, the most while it ran; 0 is
    what came before the first.
    pressure_calls, spills, refusals: records of the hook, of copies to or from the host, of calls that were
    answered HXP_OUT_OF_MEMORY. left_bytes, left_handles: what was live when the request had ended; the
    handles are the process's.
    """

    live: Mapping[int, int] = field(default_factory=dict)
    peaks: Mapping[int, int] = field(default_factory=dict)
    peak: int | None = None
    pressure_calls: int = 0
    spills: int = 0
    refusals: int = 0
    left_bytes: int | None = None
    left_handles: int | None = None


def account_of(ledger: Path | None) -> Account:
    """Read it whole; updates that the ring has overwritten are absent."""
    header = read_header(ledger) if ledger is not None else None
    if ledger is None or header is None:
        return Account()
    records = read_records(ledger)
    marks = records[records["operation"] == _NUMBERS["context_mark"]]
    peaks: dict[int, int] = {}
    for update in np.unique(records["update"]).tolist():
        peaks[update] = int(records["live_bytes"][records["update"] == update].max())

    def count(name: str) -> int:
        return int((records["operation"] == _NUMBERS[name]).sum())

    return Account(
        live=dict(zip(marks["update"].tolist(), marks["live_bytes"].tolist(), strict=True)),
        peaks=peaks,
        peak=header.peak_bytes,
        pressure_calls=count("pressure"),
        spills=count("spill"),
        refusals=int((records["status"] == _OUT_OF_MEMORY).sum()),
        left_bytes=header.live_bytes,
        left_handles=header.handles_live,
    )
