"""What the ledger says of threads: on which OS threads each update computed, and how often that changed.

Separate because the level `threads` believes core's own records, not the trainer. It judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hexapla.protocol.ledger import OPERATIONS, read_records

_COMPUTING = (48, 82)  # the operations that an update is made of, forward to optimizer
_BACKWARD = next(number for number, name in OPERATIONS.items() if name == "tape_backward")


@dataclass(frozen=True, slots=True)
class Threads:
    """`of_update`: the OS threads that an update's computing calls ran on, in order, equal neighbours as one.
    It is more than one where a runtime moves a task within an update (Go's does, whenever a call lasted
    longer than its scheduler's time slice), and such a move is a migration like that between updates."""

    of_update: Mapping[int, tuple[int, ...]]

    @property
    def seen(self) -> int:
        """Distinct OS threads over all updates."""
        return len({thread for threads in self.of_update.values() for thread in threads})

    @property
    def migrations(self) -> int:
        """Computing calls on another OS thread than the computing call before."""
        in_order = [thread for update in sorted(self.of_update) for thread in self.of_update[update]]
        return sum(thread != before for before, thread in pairwise(in_order))

    @property
    def migrated(self) -> int:
        """Updates with a migration: on another OS thread than the end of the one before, or moved within."""
        return sum(
            len(threads) > 1 or (update - 1 in self.of_update and self.of_update[update - 1][-1:] != threads)
            for update, threads in self.of_update.items()
        )


def threads_of(ledger: Path | None) -> Threads:
    """The threads of every update of a run's ledger; of none where there is no ledger."""
    if ledger is None:
        return Threads({})
    records = read_records(ledger)
    first, last = _COMPUTING
    computing = records[(records["operation"] >= first) & (records["operation"] <= last)]
    computing = computing[computing["update"] > 0]  # 0: the evaluation before the first
    of_update: dict[int, list[int]] = {}
    for update, thread in zip(computing["update"].tolist(), computing["thread"].tolist(), strict=True):
        threads = of_update.setdefault(update, [])
        if threads[-1:] != [thread]:
            threads.append(thread)
    return Threads({update: tuple(threads) for update, threads in of_update.items()})


def moves_of(ledger: Path) -> int:
    """How often a request's task was on another OS thread than before, whatever it did: training, evaluating
    or single operations. Calls that compute or go backward, each held to the one before in its context."""
    records = read_records(ledger)
    first, last = _COMPUTING
    operations = records["operation"]
    own = records[((operations >= first) & (operations <= last)) | (operations == _BACKWARD)]
    thread_of: dict[int, int] = {}
    moves = 0
    for context, thread in zip(own["context"].tolist(), own["thread"].tolist(), strict=True):
        moves += thread_of.get(context, thread) != thread
        thread_of[context] = thread
    return moves
