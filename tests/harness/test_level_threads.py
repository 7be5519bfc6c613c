"""The level `threads` on runs and counts that are wrong in one known way each."""

from __future__ import annotations

import pytest
from hexapla.compare.trajectory import Trajectory
from hexapla.levels.account import Account
from hexapla.levels.checks import Attempt
from hexapla.levels.threads import (
    Ran,
    judge_device_of_context,
    judge_error_text,
    judge_held,
    judge_migration,
)
from hexapla.levels.tracking import Threads
from hexapla.protocol import parse_event
from synthetic_runs import run_events


def made(**options: float) -> Trajectory:
    events = [parse_event(event) for event in run_events(updates=12, **options)]  # type: ignore[arg-type]
    return Trajectory.from_parsed("go", events, (1, 12))


PINNED, OTHER = made(), made(jitter=1e-12)
SHORT = Trajectory.from_parsed("go", [parse_event(event) for event in run_events(updates=11)], (1, 12))
MOVING = Threads({update: (100 + update,) for update in range(1, 13)})
FEW = Threads({update: (100 + update % 3,) for update in range(1, 13)})
ONCE_LATE = Threads({update: (100 + max(update, 2),) for update in range(1, 13)})
STILL = Threads(dict.fromkeys(range(1, 13), (100,)))
FLAT = Account(live=dict.fromkeys(range(1, 13), 1000), peak=5000)
GROWING = Account(live={update: 1000 + 64 * max(0, update - 4) for update in range(1, 13)}, peak=5000)
CUT = Account(live=dict.fromkeys(range(6, 13), 1000), peak=5000)
ALONE = Ran(PINNED, STILL, FLAT)


def words(attempt: Attempt) -> tuple[str, str]:
    return attempt.problem, attempt.unknown


def test_a_migrating_run_passes_only_if_it_migrated() -> None:
    good = judge_migration(Ran(PINNED, MOVING, FLAT), ALONE, 1)
    assert words(good) == ("", "")
    assert good.figures == {
        "threads_seen": 12,
        "migrations": 11,
        "pinned_threads_seen": 1,
        "pinned_migrations": 0,
        "core_threads_max": 1,
    }
    assert judge_migration(ALONE, ALONE, 1).unknown == "no migration was observed"
    assert judge_migration(Ran(PINNED, Threads({}), FLAT), ALONE, 1).unknown == "no migration was observed"
    assert "no thread of core's" in judge_migration(Ran(PINNED, MOVING, FLAT), ALONE, 0).unknown


def test_a_pinned_run_that_its_runtime_moved_is_said() -> None:
    moved = Ran(PINNED, Threads({1: (100, 101), 2: (101,), 3: (100,)}), FLAT)
    figures = judge_migration(Ran(PINNED, MOVING, FLAT), moved, 1).figures
    assert (figures["pinned_threads_seen"], figures["pinned_migrations"]) == (2, 2)


def test_a_thread_that_keeps_device_memory_is_found() -> None:
    kept = judge_migration(Ran(PINNED, MOVING, GROWING), ALONE, 1)
    assert kept.problem == "update 5 begins with 1064 live device bytes, in the pinned run with 1000"
    assert judge_migration(Ran(PINNED, MOVING, CUT), ALONE, 1).problem == ""


@pytest.mark.parametrize(
    ("run", "threads", "core_threads", "named"),
    [
        (OTHER, MOVING, 1, "update 1: step loss_bits"),
        (SHORT, MOVING, 1, "the run: "),
        (PINNED, FEW, 1, "11 updates with a migration of 12, over 3 OS threads"),
        (PINNED, ONCE_LATE, 1, "10 updates with a migration of 12, over 11 OS threads"),
        (PINNED, MOVING, 9, "core made 9 threads for a context of 1 worker"),
        (OTHER, STILL, 1, "update 1"),
    ],
)
def test_a_migrating_run_fails(run: Trajectory, threads: Threads, core_threads: int, named: str) -> None:
    assert named in judge_migration(Ran(run, threads, FLAT), ALONE, core_threads).problem


def test_a_run_held_to_cores() -> None:
    both = [frozenset([0]), frozenset([1])]
    assert words(judge_held(PINNED, PINNED, both, 2)) == ("", "")
    assert words(judge_held(PINNED, PINNED, both[:1], 1)) == ("", "")
    assert "update 1" in judge_held(OTHER, PINNED, both, 2).problem
    assert "cores [0, 1]" in judge_held(PINNED, PINNED, [frozenset([0, 1])], 1).problem
    assert judge_held(PINNED, PINNED, both[:1], 2).unknown == "it was seen on 1 of 2 cores"
    assert judge_held(PINNED, PINNED, [], 1).unknown == "it was seen on 0 of 1 cores"


def test_one_wrong_answer_fails_a_case() -> None:
    assert words(judge_device_of_context({"right": 1600, "wrong": 0, "errors": 0})) == ("", "")
    assert judge_device_of_context({"right": 1599, "wrong": 1, "errors": 0}).problem
    assert judge_device_of_context({"right": 1599, "wrong": 0, "errors": 1}).problem
    assert judge_device_of_context({"right": 0, "wrong": 0, "errors": 0}).problem
    assert words(judge_error_text({"own": 8000, "foreign": 0, "empty": 0})) == ("", "")
    assert judge_error_text({"own": 7999, "foreign": 1, "empty": 0}).problem
    assert judge_error_text({"own": 7999, "foreign": 0, "empty": 1}).problem
