"""What the ledger says went wrong with handles: the fault by its name, the guilty call, the update.

Separate because a failed check only says that a value or a balance was wrong. It reads records (PROTOCOL,
"Ledger") in the order of their sequence and nothing else, so that it works for every language, live and
after a crash. It decides no outcome: whoever asks says which faults were expected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapla.protocol.ledger import OPERATIONS, STATUSES

_RELEASES = frozenset(number for number, name in OPERATIONS.items() if name.endswith("_release"))
_SHARING = frozenset(
    number
    for number, name in OPERATIONS.items()
    if name.endswith("_retain") or name in ("tensor_context", "tape_gradient")
)
_MAKING = _SHARING | frozenset(
    number
    for number, name in OPERATIONS.items()
    if name.endswith("_create") or 48 <= number <= 63 or name == "checkpoint_read"
)
_OK = STATUSES.index("HXP_OK")
_STALE = STATUSES.index("HXP_STALE_HANDLE")
_SHOWN = 3


class FaultKind(StrEnum):
    """The names of docs/ownership.md and the fault catalogue."""

    LEAK = "leak"
    DOUBLE_RELEASE = "double release"
    USE_AFTER_RELEASE = "use after release"
    MISSING_SHARE = "missing share"
    EARLY_FINALISER = "early finaliser"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `operation` and `update`: of the guilty call; `handle`: the id it was about.

    Of a leak the guilty call is the one that made the id, of a missing share the one that gave it out again.
    """

    kind: FaultKind
    operation: str
    update: int
    handle: int

    def __str__(self) -> str:
        return f"{self.kind} by {self.operation} in update {self.update}, handle {self.handle:#x}"


def diagnose(records: npt.NDArray[np.void], *, ended: bool = True) -> list[Fault]:
    """Faults in the order in which they show; leaks last, in the order in which their ids were made.

    records: as `read_records` gives them, from the first record on (what a ring has lost cannot be judged).
    ended: the program has released all it meant to, so that an id still live is a leak.

    An id given out twice has two owners and one share: each later fault of that id follows from it and is
    not named again. A stale use is an early finaliser's where the id was released by another thread that
    does nothing but release, as a collector's thread does; else the program's own use after release.
    """
    return _Diagnosis(records).faults(ended)


def describe(faults: Sequence[Fault]) -> str:
    """The first few in words, and how many of which kind there are in all; "" for none."""
    if len(faults) <= _SHOWN:
        return "; ".join(map(str, faults))
    counts = ", ".join(f"{count} × {kind}" for kind, count in Counter(f.kind for f in faults).items())
    return f"{'; '.join(map(str, faults[:_SHOWN]))}; in all {counts}"


def count_kinds(faults: Iterable[Fault]) -> dict[FaultKind, int]:
    """How many of each kind."""
    return dict(Counter(fault.kind for fault in faults))


class _Diagnosis:
    def __init__(self, records: npt.NDArray[np.void]) -> None:
        self._records = records
        self._live: dict[int, Any] = {}
        self._released: dict[int, Any] = {}
        self._shared: set[int] = set()
        releases = np.isin(records["operation"], list(_RELEASES))
        busy = set(np.unique(records["thread"][~releases]).tolist())
        self._only_releasing = set(np.unique(records["thread"]).tolist()) - busy

    def faults(self, ended: bool) -> list[Fault]:
        found = [fault for record in self._records if (fault := self._take(record)) is not None]
        leaked = self._live.items() if ended else ()
        return found + [_fault(FaultKind.LEAK, record) for id_, record in leaked if id_ not in self._shared]

    def _take(self, record: Any) -> Fault | None:
        handle, operation, status = (int(record[key]) for key in ("handle", "operation", "status"))
        if status == _STALE:
            return self._stale(record)
        if status != _OK:
            return None
        if operation in _RELEASES:
            self._live.pop(handle, None)
            self._released[handle] = record
        elif operation in _MAKING:
            given_before = handle in self._live
            self._live[handle] = record
            if given_before and handle not in self._shared:
                self._shared.add(handle)
                return _fault(FaultKind.MISSING_SHARE, record)
        return None

    def _stale(self, record: Any) -> Fault | None:
        handle = int(record["handle"])
        release = self._released.get(handle)
        if release is None or handle in self._shared:
            return None
        if int(record["operation"]) in _RELEASES:
            return _fault(FaultKind.DOUBLE_RELEASE, record)
        releaser = int(release["thread"])
        early = releaser in self._only_releasing and releaser != int(record["thread"])
        return _fault(FaultKind.EARLY_FINALISER if early else FaultKind.USE_AFTER_RELEASE, record)


def _fault(kind: FaultKind, record: Any) -> Fault:
    number = int(record["operation"])
    operation = OPERATIONS.get(number, f"operation {number}")
    return Fault(kind, operation, int(record["update"]), int(record["handle"]))
