"""Probe scenarios of device memory: what is lost, what comes back, and when."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable

from hexapla_native import Error, Scope, process_memory, zeros
from hexapla_native.testing import fail_allocation

from hexapla_native_trainer.batch import micro_batches
from hexapla_native_trainer.devices import Choice, Place
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.probe import Scenario, Seen, live_bytes, load_training, take_train
from hexapla_native_trainer.temporaries import lose


class Collections:
    """Counts Python's collections and the time in them, by its own callbacks."""

    def __init__(self) -> None:
        self.count = 0
        self.milliseconds = 0.0
        self._started = 0.0

    def __enter__(self) -> Collections:
        gc.callbacks.append(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._started = time.perf_counter()
        else:
            self.count += 1
            self.milliseconds += (time.perf_counter() - self._started) * 1000


def _turns(turns: int, turn: Callable[[], None]) -> tuple[int, int]:
    """(turns done, the turn that failed or 0)."""
    for number in range(1, turns + 1):
        try:
            turn()
        except Error:
            return number - 1, number
    return turns, 0


def drop_in_loop(choice: Choice, parameters: Fields) -> Seen:
    size, turns = parameters.integer("bytes", 4), parameters.integer("turns", 1)
    close = parameters.integer("close", 0, 1)
    parameters.end()
    before = process_memory().pressure_calls
    gc.collect()
    tracemalloc.start()
    with choice.open() as context, Collections() as collections:

        def turn() -> None:
            tensor = zeros(context, [size // 4])
            if close:
                tensor.close()
            else:
                lose([tensor])

        held = tracemalloc.get_traced_memory()[0]
        done, failed = _turns(turns, turn)
    pressure_calls = process_memory().pressure_calls - before
    gc.collect()
    growth = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    seen: Seen = {
        "turns": done,
        "failed_turn": failed,
        "pressure_calls": pressure_calls,
        "collections": collections.count,
        "collector_ms": collections.milliseconds,
        "managed_heap_growth_bytes": growth,
    }
    return seen


def cycles(choice: Choice, parameters: Fields) -> Seen:
    size, turns = parameters.integer("bytes", 4), parameters.integer("turns", 1)
    parameters.end()
    before = live_bytes()
    with choice.open() as context:
        done, failed = _turns(turns, lambda: lose([zeros(context, [size // 4])]))
        gc.collect()
        difference = live_bytes() - before
    return {"turns": done, "failed_turn": failed, "difference_bytes": difference}


def caught_errors(choice: Choice, parameters: Fields) -> Seen:
    job, turns = take_train(parameters), parameters.integer("turns", 1)
    parameters.end()
    difference = failed_turn = 0
    with choice.open() as context, Scope() as scope:
        training = load_training(job, Place(context, scope))
        updates = training.updates
        records = training.records_of(training.start + 1)[1]
        batch = next(micro_batches(records, job.spec.micro_batch))
        for turn in range(1, turns + 1):
            before = live_bytes()
            with Scope() as temporaries:
                nll = updates.forward.nll(batch, updates.tape, temporaries)
                fail_allocation(context, 1)
                try:
                    updates.tape.backward(nll)
                    failed_turn = failed_turn or turn
                except Error:
                    updates.tape.reset()
                fail_allocation(context, 0)
            difference = _larger(difference, live_bytes() - before)
    return {"turns": turns, "failed_turn": failed_turn, "difference_bytes": difference}


def scope(choice: Choice, parameters: Fields) -> Seen:
    job, turns = take_train(parameters), parameters.integer("turns", 1)
    parameters.end()
    difference = 0
    with choice.open() as context, Scope() as kept:
        training = load_training(job, Place(context, kept))
        records = training.records_of(training.start + 1)[1]
        for _ in range(turns):
            before = live_bytes()
            with Scope() as temporaries:
                training.state(Place(context, temporaries)).run(training.start + 1, records, "explicit")
            difference = _larger(difference, live_bytes() - before)
    return {"turns": turns, "failed_turn": 0, "difference_bytes": difference}


def _larger(a: int, b: int) -> int:
    """The one further from nothing."""
    return b if abs(b) > abs(a) else a


SCENARIOS: dict[str, Scenario] = {
    "drop_in_loop": drop_in_loop,
    "cycles": cycles,
    "caught_errors": caught_errors,
    "scope": scope,
}
