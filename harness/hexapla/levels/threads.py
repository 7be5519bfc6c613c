"""Level `threads`: does it matter which OS thread calls, how many work, and on which core?

Separate because here one implementation is held to itself: the same few updates pinned, moved to another OS
thread at every update, with more workers, and held to cores from outside must be the same bit for bit. That
the threads really changed is read from core's ledger and from /proc; what nobody saw is `unknown`. The ledger
says too that no thread kept device memory: live bytes must be the same, update by update.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from hexapla.compare.bits import parted
from hexapla.compare.trajectory import Trajectory
from hexapla.levels.account import Account, account_of
from hexapla.levels.checks import (
    Attempt,
    Checked,
    Seen,
    Try,
    carry_out_all,
    conclude,
    probe,
    require_core,
    wrong,
)
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.session import Session
from hexapla.levels.tracking import Threads, threads_of
from hexapla.levels.training import Leg, Trained, shortened, train, train_keys
from hexapla.process import threads as os_threads
from hexapla.protocol import Event, Step
from hexapla.spec import Spec

UPDATES = 12
"""Enough for eight tasks to stand in the gate at once and four more to come."""

PINNED = "the pinned run"
_LEAST_THREADS = 8  # a task waits until eight updates later, so that eight must differ
Watch = Callable[[Event], None]

_WORKERS = (2, 4)  # the pinned run has 1
_BESIDE_UPDATES = 2

DEVICE_OF_CONTEXT = {"workers": 8, "rounds": 200, "blocked": 32}  # case A1
ERROR_TEXT = {"workers": 8, "calls": 1000}  # case A2


class ThreadsLevel(Level[tuple[Checked, ...]]):
    name: ClassVar[str] = "threads"
    stands_on: ClassVar[tuple[str, ...]] = ("trajectory",)

    def observe(self, session: Session, inputs: Inputs) -> tuple[Checked, ...]:
        require_core(session)
        spec = shortened(inputs.spec, UPDATES, save_every=UPDATES)
        runs = _Runs(session, inputs, spec, inputs.work / session.name / "threads")
        trained = runs.train("pinned", threads=1)
        pinned = trained.run
        checks: dict[str, Try] = {"migrating": partial(_migrating, runs, trained)}
        for workers in _WORKERS:
            checks[f"workers_{workers}"] = partial(_workers, runs, pinned, workers)
        checks |= {
            "one_core": partial(_one_core, runs, pinned),
            "each_core": partial(_each_core, runs, pinned),
            "device_of_context": partial(_device_of_context, session),
            "error_text": partial(_error_text, session),
            "two_contexts": partial(_two_contexts, runs),
        }
        return carry_out_all(checks)

    def judge(
        self, observed: Mapping[str, tuple[Checked, ...]], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        return {name: conclude(name, checked) for name, checked in observed.items()}


@dataclass(frozen=True, slots=True)
class _Runs:
    """Trains the same few updates of one implementation again and again."""

    session: Session
    inputs: Inputs
    spec: Spec
    folder: Path

    def train(
        self, name: str, *, schedule: str = "pinned", threads: int | None = None, watch: Watch | None = None
    ) -> Trained:
        context = {} if threads is None else {"threads": threads}
        leg = Leg(
            f"threads-{name}",
            self.folder / name,
            (1, int(self.spec["updates"])),
            schedule=schedule,
            context=context,
        )
        return train(self.session, self.inputs, self.spec, leg, watch)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run by what it said, and by its ledger."""

    run: Trajectory
    threads: Threads
    account: Account

    @classmethod
    def of(cls, trained: Trained) -> Ran:
        return cls(trained.run, threads_of(trained.ledger), account_of(trained.ledger))


def judge_migration(migrating: Ran, pinned: Ran, core_threads: int) -> Attempt:
    """A migrating run. core_threads: the most of core's own seen at once, for one worker asked for."""
    threads = migrating.threads
    figures = {
        "threads_seen": threads.seen,
        "migrations": threads.migrations,
        "pinned_threads_seen": pinned.threads.seen,
        "pinned_migrations": pinned.threads.migrations,
        "core_threads_max": core_threads,
    }
    updates = len(migrating.run.steps)
    problem = parted(migrating.run, pinned.run, PINNED) or _kept(migrating.account, pinned.account)
    if not problem and core_threads > 1:
        problem = f"core made {core_threads} threads for a context of 1 worker"
    if problem:
        return Attempt(problem=problem, figures=figures)
    if not threads.migrations:
        return Attempt(unknown="no migration was observed", figures=figures)
    if not core_threads:
        return Attempt(unknown="no thread of core's was observed", figures=figures)
    if threads.seen < _LEAST_THREADS or threads.migrated < updates - 1:
        words = f"{threads.migrated} updates with a migration of {updates}, over {threads.seen} OS threads"
        return Attempt(problem=f"{words}: the schedule was not kept", figures=figures)
    return Attempt(figures=figures)


def _kept(migrating: Account, pinned: Account) -> str:
    """Where device memory stands otherwise than in the pinned run, in words: what a thread keeps, stays."""
    for update in sorted(migrating.live.keys() & pinned.live.keys()):
        mine, theirs = migrating.live[update], pinned.live[update]
        if mine != theirs:
            return f"update {update} begins with {mine} live device bytes, in {PINNED} with {theirs}"
    return ""


def _migrating(runs: _Runs, pinned: Trained) -> Attempt:
    pid = runs.session.running.pid
    core_threads = [0]

    def count(event: Event) -> None:
        core_threads.append(os_threads.core_threads(pid))

    trained = runs.train("migrating", schedule="migrating", threads=1, watch=count)
    return judge_migration(Ran.of(trained), Ran.of(pinned), max(core_threads))


def _workers(runs: _Runs, pinned: Trajectory, workers: int) -> Attempt:
    words = parted(runs.train(f"workers-{workers}", threads=workers).run, pinned, PINNED)
    return Attempt(problem=f"with {workers} worker threads: {words}" if words else "")


def judge_held(run: Trajectory, pinned: Trajectory, seen: list[frozenset[int]], cores: int) -> Attempt:
    """A run held to one core at a time. seen: the cores its threads were allowed, looked at after each
    update; cores: how many it was to be held to in turn."""
    words = parted(run, pinned, PINNED)
    if words:
        return Attempt(problem=words)
    if loose := [sorted(each) for each in seen if len(each) > 1]:
        return Attempt(problem=f"held to one core, its threads allowed themselves cores {loose[0]}")
    held = frozenset[int]().union(*seen)
    if len(held) < cores:
        return Attempt(unknown=f"it was seen on {len(held)} of {cores} cores")
    return Attempt()


def _one_core(runs: _Runs, pinned: Trajectory) -> Attempt:
    return _held(runs, pinned, sorted(os.sched_getaffinity(0))[:1], "one-core")


def _each_core(runs: _Runs, pinned: Trajectory) -> Attempt:
    cores = sorted(os.sched_getaffinity(0))[:UPDATES]
    if len(cores) < 2:
        return Attempt(absent="the machine lends a single core")
    attempt = _held(runs, pinned, cores, "each-core")
    return Attempt(attempt.problem, attempt.unknown, figures={"cores_held": len(cores)})


def _held(runs: _Runs, pinned: Trajectory, cores: list[int], name: str) -> Attempt:
    """Hold every thread to the first core before the run, and after update k to the k-th, in a ring."""
    pid = runs.session.running.pid
    before = os_threads.allowed(pid)
    seen: list[frozenset[int]] = []

    def next_core(event: Event) -> None:
        if isinstance(event, Step):
            seen.append(os_threads.allowed(pid))
            os_threads.hold(pid, frozenset([cores[event.step % len(cores)]]))

    os_threads.hold(pid, frozenset(cores[:1]))
    try:
        run = runs.train(name, threads=2, watch=next_core).run
    finally:
        os_threads.hold(pid, before)
    return judge_held(run, pinned, seen, len(cores))


def judge_device_of_context(seen: Seen) -> Attempt:
    """Case A1: one wrong answer fails it, since the fault comes and goes."""
    right = DEVICE_OF_CONTEXT["workers"] * DEVICE_OF_CONTEXT["rounds"]
    return Attempt(problem=wrong(seen, right=right, wrong=0, errors=0))


def judge_error_text(seen: Seen) -> Attempt:
    """Case A2: every text is its own call's."""
    own = ERROR_TEXT["workers"] * ERROR_TEXT["calls"]
    return Attempt(problem=wrong(seen, own=own, foreign=0, empty=0))


def _device_of_context(session: Session) -> Attempt:
    return judge_device_of_context(probe(session, "device_of_context", DEVICE_OF_CONTEXT).seen)


def _error_text(session: Session) -> Attempt:
    return judge_error_text(probe(session, "error_text", ERROR_TEXT).seen)


def _two_contexts(runs: _Runs) -> Attempt:
    keys = train_keys(runs.inputs, runs.spec, runs.folder / "two-contexts")
    probed = probe(runs.session, "two_contexts", {"updates": _BESIDE_UPDATES, "train": keys})
    words = "trained at once on two contexts, it parts from training alone"
    return Attempt(problem=words if wrong(probed.seen, equal=1) else "")
