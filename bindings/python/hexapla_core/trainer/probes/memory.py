"""Device memory and the collector: scenarios B1, B2a, B2b, B3."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import ExitStack
from time import perf_counter
from typing import Any, Self

from hexapla_core.safe import Context, OutOfMemory, Tensor, process_memory
from hexapla_core.trainer.batch import micro_batches
from hexapla_core.trainer.probes.common import Choice, Parameters, Prepared, Scenario, Seen, status_of
from hexapla_core.trainer.temporaries import Temporaries
from hexapla_core.trainer.train import open_context

F32_BYTES = 4


class Collections:
    """Counts the collector's runs, and their time, inside a `with` block."""

    def __init__(self) -> None:
        self.count, self.milliseconds, self._start = 0, 0.0, 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._start = perf_counter()
        else:
            self.count += 1
            self.milliseconds += (perf_counter() - self._start) * 1e3

    def __enter__(self) -> Self:
        gc.callbacks.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        gc.callbacks.remove(self)


class ManagedHeap:
    """What Python's own heap holds more than when a `with` block began, once everything dead is collected."""

    def __enter__(self) -> Self:
        gc.collect()
        tracemalloc.start()
        self._before, _ = tracemalloc.get_traced_memory()
        return self

    def growth_bytes(self) -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - self._before

    def __exit__(self, *exception: object) -> None:
        tracemalloc.stop()


class Ring:
    """An object that refers to itself as well as to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.itself = tensor, self


def drop_in_loop(choice: Choice, parameters: Parameters) -> Seen:
    """B1: large buffers behind small wrappers, closed in the loop or lost in a cycle."""
    with open_context(choice) as context, ManagedHeap() as heap:
        with Collections() as collections:
            turns, failed_turn = _turns(context, parameters, bool(parameters["close"]))
        seen: Seen = {
            "turns": turns,
            "failed_turn": failed_turn,
            "pressure_calls": context.memory().pressure_calls,
            "collections": collections.count,
            "collector_ms": collections.milliseconds,
            "managed_heap_growth_bytes": heap.growth_bytes(),
        }
    return seen


def cycles(choice: Choice, parameters: Parameters) -> Seen:
    """B2a: objects that refer to themselves and to a tensor."""
    before = process_memory().live_bytes
    with open_context(choice) as context:
        turns, failed_turn = _turns(context, parameters, close=False)
        gc.collect()
        difference = process_memory().live_bytes - before
    return {"turns": turns, "failed_turn": failed_turn, "difference_bytes": difference}


def _turns(context: Context, parameters: Parameters, close: bool) -> tuple[int, int]:
    """Turns done, and the turn that failed (0 = none)."""
    shape = (parameters["bytes"] // F32_BYTES,)
    for turn in range(1, parameters["turns"] + 1):
        try:
            tensor = Tensor(context, shape)
        except OutOfMemory:
            return turn - 1, turn
        if close:
            tensor.close()
        else:
            Ring(tensor)
        del tensor
    return int(parameters["turns"]), 0


def caught_errors(choice: Choice, parameters: Parameters) -> Seen:
    """B2b: a backward that runs out of memory, caught, leaves nothing behind."""
    prepared = Prepared.read(parameters["train"])
    differences, failed_turn = [0], 0
    with ExitStack() as stack:
        context, model = stack.enter_context(prepared.model(choice))
        learner, _, _ = stack.enter_context(prepared.learner(context, model))
        _, records = learner.records_of(1)
        batch = next(micro_batches(records, prepared.spec.micro_batch))
        gc.collect()  # nothing that the pressure hook could free may be left
        for turn in range(1, parameters["turns"] + 1):
            before = process_memory().live_bytes
            with Temporaries() as temporaries:
                nll = learner.record(batch, temporaries.keep)
                context.fail_allocation(1)
                try:
                    learner.tape.backward(nll)
                except OutOfMemory:
                    learner.tape.reset()
                else:
                    failed_turn = failed_turn or turn
            differences.append(process_memory().live_bytes - before)
        context.fail_allocation(0)
    return {
        "turns": parameters["turns"],
        "failed_turn": failed_turn,
        "difference_bytes": max(differences, key=abs),
    }


def scope(choice: Choice, parameters: Parameters) -> Seen:
    """B3: what the shortest scope owns is gone with it."""
    prepared = Prepared.read(parameters["train"])
    differences, turns = [0], 0
    with prepared.model(choice) as (context, model):
        for _ in range(parameters["turns"]):
            before = process_memory().live_bytes
            with prepared.learner(context, model) as (learner, _, _):
                learner.run(1)
            differences.append(process_memory().live_bytes - before)
            turns += 1
    return {"turns": turns, "failed_turn": 0, "difference_bytes": max(differences, key=abs)}


def fail_allocation(choice: Choice, parameters: Parameters) -> Seen:
    """One update in which the nth allocation fails, once or for good."""
    prepared = Prepared.read(parameters["train"])
    with ExitStack() as stack:
        context, model = stack.enter_context(prepared.model(choice))
        learner, _, _ = stack.enter_context(prepared.learner(context, model))
        gc.collect()
        before = process_memory().live_bytes
        context.fail_allocation(parameters["nth"], persistent=bool(parameters["persistent"]))
        status = status_of(lambda: learner.run(1))
        context.fail_allocation(0)
        learner.tape.reset()
        seen: Seen = {
            "fired": context.memory().injected_failures,
            "status": status,
            "live_difference": process_memory().live_bytes - before,
        }
    return seen


_TURNS: dict[str, Any] = {"bytes": "i", "turns": "i"}
SCENARIOS = {
    "drop_in_loop": Scenario(drop_in_loop, {**_TURNS, "close": "x"}),
    "cycles": Scenario(cycles, _TURNS),
    "caught_errors": Scenario(caught_errors, {"train": "o", "turns": "i"}),
    "scope": Scenario(scope, {"train": "o", "turns": "i"}),
    "fail_allocation": Scenario(fail_allocation, {"train": "o", "nth": "i", "persistent": "x"}),
}
