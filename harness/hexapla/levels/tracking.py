"""What the ledger says of threads: which OS thread ran each update, and how often that changed.

Separate because the level `threads` believes core's own records, not the trainer. It judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hexapla.protocol.ledger import OPERATIONS, read_records

_MARK = next(number for number, name in OPERATIONS.items() if name == "context_mark")
_COMPUTING = (48, 82)  # the operations that an update is made of, forward to optimizer


@dataclass(frozen=True, slots=True)
class Threads:
    """`of_update`: the OS thread that stamped an update and computed in it. A runtime may move a task within
    an update too (Go does); those other threads are not counted, so that a figure never flatters."""

    of_update: Mapping[int, int]

    @property
    def seen(self) -> int:
        """Distinct OS threads over all updates."""
        return len(set(self.of_update.values()))

    @property
    def migrations(self) -> int:
        """Updates on another OS thread than the one before."""
        return sum(
            thread != self.of_update[update - 1]
            for update, thread in self.of_update.items()
            if update - 1 in self.of_update
        )


def threads_of(ledger: Path | None) -> Threads:
    """The threads of every update of a run's ledger; of none where there is no ledger."""
    if ledger is None:
        return Threads({})
    records = read_records(ledger)
    first, last = _COMPUTING
    computing = records[(records["operation"] >= first) & (records["operation"] <= last)]
    computed = set(zip(computing["update"].tolist(), computing["thread"].tolist(), strict=True))
    marks = records[records["operation"] == _MARK]
    pairs = zip(marks["update"].tolist(), marks["thread"].tolist(), strict=True)
    return Threads({update: thread for update, thread in pairs if (update, thread) in computed})
