"""Handle faults are named from the ledger alone: which, by which call, in which update."""

from __future__ import annotations

from pathlib import Path

import pytest
from hexapla.levels.diagnosis import FaultKind, count_kinds, describe, diagnose
from hexapla.levels.tracking import Threads, moves_of, threads_of
from hexapla.protocol.ledger import read_records
from synthetic_ledgers import Entry, write_ledger

STALE = "HXP_STALE_HANDLE"
SOUND = [
    Entry("context_create", 1),
    Entry("tensor_create", 2),
    Entry("tensor_retain", 3, 2),
    Entry("tensor_release", 2, 2),
    Entry("add", 4, 2),
    Entry("tensor_release", 4, 2),
    Entry("tensor_release", 3, 3),
    Entry("context_release", 1, 3),
]


def faults(tmp_path: Path, entries: list[Entry]) -> list[str]:
    return [str(fault) for fault in diagnose(read_records(write_ledger(tmp_path / "l.bin", entries)))]


def test_a_balanced_ledger_has_no_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND) == []
    assert faults(tmp_path, []) == []


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        (SOUND[:6] + SOUND[7:], "leak by tensor_retain in update 2, handle 0x3"),
        (SOUND[:1] + SOUND[2:], ""),  # who made handle 2 is not known, and it was released
        (
            [*SOUND, Entry("tensor_release", 2, 7, status=STALE)],
            "double release by tensor_release in update 7, handle 0x2",
        ),
        (
            [*SOUND, Entry("tensor_read", 2, 5, status=STALE)],
            "use after release by tensor_read in update 5, handle 0x2",
        ),
        (
            [
                *SOUND[:6],
                Entry("tensor_release", 3, 3, thread=9),
                Entry("tensor_read", 3, 4, status=STALE),
                *SOUND[7:],
            ],
            "early finaliser by tensor_read in update 4, handle 0x3",
        ),
        # The copy got the id of the first owner: named once, whatever follows from it.
        (
            [
                Entry("tensor_create", 2),
                Entry("tensor_retain", 2, 6),
                Entry("tensor_release", 2, 6),
                Entry("tensor_release", 2, 6, status=STALE),
                Entry("tensor_read", 2, 6, status=STALE),
            ],
            "missing share by tensor_retain in update 6, handle 0x2",
        ),
        ([Entry("tensor_read", 99, status=STALE)], ""),  # never given out: no owner's fault
        ([Entry("tensor_create", 5, status="HXP_OUT_OF_MEMORY")], ""),
    ],
)
def test_a_fault_is_named(tmp_path: Path, entries: list[Entry], named: str) -> None:
    assert faults(tmp_path, entries) == ([named] if named else [])


def test_a_living_program_leaks_nothing_yet(tmp_path: Path) -> None:
    records = read_records(write_ledger(tmp_path / "l.bin", SOUND[:5]))
    assert diagnose(records, ended=False) == []
    assert count_kinds(diagnose(records)) == {FaultKind.LEAK: 3}


def test_many_faults_are_counted(tmp_path: Path) -> None:
    entries = [Entry("tensor_create", handle) for handle in range(2, 12)]
    words = describe(diagnose(read_records(write_ledger(tmp_path / "l.bin", entries))))
    assert words.startswith("leak by tensor_create in update 1, handle 0x2;") and "10 × leak" in words


def test_threads_of_updates(tmp_path: Path) -> None:
    entries = [
        Entry("linear", 4, update=0, thread=10),  # the evaluation before the first update
        Entry("context_mark", update=1, thread=11),
        Entry("linear", 5, update=1, thread=11),
        Entry("linear", 6, update=1, thread=12),
        Entry("linear", 7, update=1, thread=12),
        Entry("tensor_release", 7, update=1, thread=15),  # a finaliser's: it computes nothing
        Entry("context_mark", update=2, thread=13),
        Entry("linear", 8, update=2, thread=13),
        Entry("linear", 9, update=3, thread=13),
        Entry("context_mark", update=4, thread=14),  # it stamps, and lets another compute
        Entry("linear", 10, update=4, thread=13),
        Entry("linear", 11, update=4, thread=11),
    ]
    threads = threads_of(write_ledger(tmp_path / "l.bin", entries))
    assert dict(threads.of_update) == {1: (11, 12), 2: (13,), 3: (13,), 4: (13, 11)}
    assert (threads.seen, threads.migrations, threads.migrated) == (3, 3, 3)
    assert threads_of(None).seen == threads_of(tmp_path / "absent.bin").migrations == 0
    assert moves_of(tmp_path / "l.bin") == 4  # what was computed before the first update is no exception


def test_a_task_that_moves_within_an_update_migrates_in_it() -> None:
    """Seen in Go on a busy machine: update 2 was stamped on one OS thread and computed on another, where
    update 1 had been too; the count by stamps missed it, and the level was flaky."""
    threads = Threads({1: (11, 12), 2: (11,), 3: (11, 12), 4: (12,)})
    assert (threads.migrations, threads.migrated) == (3, 3)
