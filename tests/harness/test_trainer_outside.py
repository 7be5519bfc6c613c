"""What is done to a running trainer from outside: its input ends, it is paused, held to cores, killed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_types import MakeTrainer
from hexapla.process import Answer, Trainer, TrainerFailure
from hexapla.process import threads as os_threads
from hexapla.protocol import Event, Reason, Step

SPEC = {"updates": 12, "evaluate_every": 12, "save_every": 12}
CONTEXT = {"device": "cpu:0", "threads": 1, "memory_limit": 0, "spill": False, "ledger": None}


def train(trainer: Trainer, tmp_path: Path, on_event: Callable[[Event], None] | None = None) -> Answer:
    keys: dict[str, Any] = {
        name: str(tmp_path) for name in ("model", "tokenizer", "train", "heldout", "adapter", "output")
    }
    keys |= {"schedule": "pinned", "release": "explicit", "resume_from": None, "stop_after": None}
    return trainer.ask("train", "t", on_event, context=CONTEXT, spec=SPEC, spec_digest="x", **keys)


def after_step(step: int, action: Callable[[], object]) -> Callable[[Event], None]:
    def hear(event: Event) -> None:
        if isinstance(event, Step) and event.step == step:
            action()

    return hear


def test_a_run_stops_between_updates_when_its_input_ends(trainer: MakeTrainer, tmp_path: Path) -> None:
    process = trainer("trains")
    process.hello()
    answer = train(process, tmp_path, after_step(2, process.end_input))
    steps = [event.step for event in answer.events if isinstance(event, Step)]
    assert answer.end.values["stopped"] is True and answer.end.values["step"] == steps[-1] < 12  # type: ignore[union-attr]
    bye = process.close()
    assert bye.id == "" and process.failure is None


def test_without_it_a_run_may_not_stop_early(trainer: MakeTrainer, tmp_path: Path) -> None:
    process = trainer("trains")
    process.hello()
    close = process._pipes.close_stdin  # behind the back of the order of events
    with pytest.raises(TrainerFailure) as failure:
        train(process, tmp_path, after_step(2, close))
    assert failure.value.reason is Reason.STEP_ORDER


def test_a_pause_is_no_fault(trainer: MakeTrainer, tmp_path: Path) -> None:
    process = trainer("trains", silence_s=5.0)
    process.hello()
    stood: list[Callable[[], bool]] = []
    started = time.monotonic()
    answer = train(process, tmp_path, after_step(2, lambda: stood.append(process.pause(1.0))))
    assert time.monotonic() - started > 1.0 + 9 * 0.05
    assert stood[0]() and len([event for event in answer.events if isinstance(event, Step)]) == 12
    process.close()


def test_a_pause_that_never_came_says_so(trainer: MakeTrainer) -> None:
    process = trainer("trains")
    process.hello()
    stood = process.pause(30.0)
    assert not stood()
    process.kill()


def test_killed_from_the_asking_thread(trainer: MakeTrainer, tmp_path: Path) -> None:
    process = trainer("trains")
    process.hello()
    with pytest.raises(TrainerFailure) as failure:
        train(process, tmp_path, after_step(3, process.interrupt))
    assert failure.value.reason is Reason.SIGNAL


def test_threads_are_held_to_cores(trainer: MakeTrainer) -> None:
    process = trainer("trains")
    process.hello()
    cores = os.sched_getaffinity(0)
    assert os_threads.allowed(process.pid) == cores
    one = frozenset([min(cores)])
    os_threads.hold(process.pid, one)
    assert os_threads.allowed(process.pid) == one
    assert os_threads.core_threads(process.pid) == 0
    process.kill()
    assert os_threads.allowed(process.pid) == frozenset() == os_threads.thread_ids(process.pid)
