"""One measured run of one implementation: a fresh process, `load` apart, then `train`.

Separate because it decides what a time means. Starting the process, importing libraries and reading the
model for the first time happen before the clock starts: `load` makes every trainer do them. What follows
is timed as its user sees it: `train` from the request to its `done`, and an update as the trainer itself
measured it (PROTOCOL, `milliseconds`). The first update, which fills caches and compiles, is left out.
"""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexapla.bench import machine
from hexapla.levels.level import Inputs
from hexapla.process import Launch, Trainer, group
from hexapla.protocol import Error, Event, Skipped, Step


class Unmeasured(Exception):
    """The implementation answered, but not with a run: its reason."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of one run. step_ms: updates 2, 3, …; wall_s: the train request; cpu_ms: processor time an
    update, between the first update's end and the last before an evaluation; others: share of the machine.
    """

    step_ms: list[float]
    wall_s: float
    cpu_ms: float | None
    others: float

    @property
    def step_ms_median(self) -> float:
        return statistics.median(self.step_ms)


@dataclass
class _Watch:
    """Reads the trainer's processor time when certain updates end."""

    trainer: Trainer
    last: int
    seen: dict[int, float] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step) and event.step in (1, self.last):
            self.seen[event.step] = group.cpu_seconds(self.trainer.pid)

    def cpu_ms(self) -> float | None:
        if self.last == 1 or len(self.seen) < 2:
            return None
        return (self.seen[self.last] - self.seen[1]) * 1e3 / (self.last - 1)


def context(threads: int, ledger: Path | None = None) -> dict[str, Any]:
    """A context on the processor without a limit; without a ledger unless one is named."""
    return {
        "device": "cpu:0",
        "threads": threads,
        "memory_limit": 0,
        "spill": False,
        "ledger": str(ledger) if ledger else None,
    }


def train_keys(inputs: Inputs, output: Path, updates: int) -> dict[str, Any]:
    """The keys of a train request but `context`; updates below the spec's stop it there."""
    return {
        "spec": inputs.spec.values,
        "spec_digest": inputs.spec.digest,
        "model": str(inputs.model),
        "tokenizer": str(inputs.tokenizer),
        "train": str(inputs.train),
        "heldout": str(inputs.heldout),
        "adapter": str(inputs.adapter),
        "output": str(output),
        "resume_from": None,
        "stop_after": updates if updates < int(inputs.spec["updates"]) else None,
        "schedule": "pinned",
        "release": "explicit",
    }


def measure(launch: Launch, inputs: Inputs, updates: int, threads: int) -> Sample:
    """Run it once. Raises TrainerFailure, Unmeasured."""
    output = inputs.work / launch.name / "bench"
    shutil.rmtree(output, ignore_errors=True)
    trainer = Trainer(launch)
    try:
        _good(trainer.hello())
        _good(trainer.ask("load", "load", model=str(inputs.model), context=context(threads)).end)
        watch = _Watch(trainer, min(updates, int(inputs.spec["evaluate_every"])))
        before, own, started = machine.now(), _own_seconds(trainer), time.monotonic()
        keys = train_keys(inputs, output, updates)
        answer = trainer.ask("train", "train", watch, context=context(threads), **keys)
        wall = time.monotonic() - started
        share = machine.others_share(before, machine.now(), _own_seconds(trainer) - own)
        _good(answer.end)
        steps = [event.milliseconds for event in answer.events if isinstance(event, Step) and event.step > 1]
        trainer.close()
    finally:
        trainer.kill()
    if not steps:
        raise Unmeasured("the run has no second update")
    return Sample(steps, wall, watch.cpu_ms(), share)


def _good(end: Event) -> None:
    if isinstance(end, Skipped):
        raise Unmeasured(f"skipped: {end.reason}")
    if isinstance(end, Error):
        raise Unmeasured(f"error {end.status}: {end.message}")


def _own_seconds(trainer: Trainer) -> float:
    """Processor time of the trainer and of this process, which reads its events."""
    return group.cpu_seconds(trainer.pid) + time.process_time()
