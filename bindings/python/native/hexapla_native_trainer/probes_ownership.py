"""Probe scenarios of ownership: shares given back in every order, twice, elsewhere, and while they are
used.
"""

from __future__ import annotations

import gc
import threading
from copy import copy

import numpy as np
from hexapla_native import Context, Owner, Tape, Tensor, process_memory, reshape, tensor, zeros
from hexapla_native.testing import release_again

from hexapla_native_trainer.devices import Choice
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.order import shuffled
from hexapla_native_trainer.probe import Scenario, Seen, Statuses, run_tasks

ONE_TO_FOUR = "1 2 3 4"
WARM_UP_CALLS = 20_000


def _four(context: Context) -> Tensor:
    return tensor(context, np.array([1, 2, 3, 4], np.float32))


def _text(held: Tensor) -> str:
    return " ".join(f"{value:g}" for value in held.read().ravel().tolist())


class Parent:
    """Owns one tensor and hands out further owners of it."""

    def __init__(self, held: Tensor) -> None:
        self.held = held

    def get(self) -> Tensor:
        return copy(self.held)


def accessors(choice: Choice, parameters: Fields) -> Seen:
    repeats = parameters.integer("repeats", 1)
    parameters.end()
    statuses, value = Statuses(), ONE_TO_FOUR
    with choice.open() as context:
        for _ in range(repeats):
            parent = Parent(_four(context))
            a, b = parent.get(), parent.get()
            statuses.of(a.close)
            statuses.of(b.close)
            first = _text(parent.held)
            c = reshape(None, parent.held, [2, 2])
            statuses.of(c.close)
            reads = [first, _text(parent.held)]
            statuses.of(parent.held.close)
            if value == ONE_TO_FOUR:
                value = next((read for read in reads if read != ONE_TO_FOUR), ONE_TO_FOUR)
    return {"value": value, "statuses": str(statuses)}


def copies(choice: Choice, parameters: Fields) -> Seen:
    repeats = parameters.integer("repeats", 1)
    parameters.end()
    statuses, value = Statuses(), ""
    with choice.open() as context:
        for _ in range(repeats):
            a = _four(context)
            c, b = copy(a), copy(a)
            statuses.of(a.close)
            total = float(b.read().sum())
            b.add_in_place(1.0)
            value = _text(c) if total == 10 else f"sum {total:g}"
            statuses.of(b.close)
            statuses.of(c.close)
    return {"value": value, "statuses": str(statuses)}


def drop_orders(choice: Choice, parameters: Fields) -> Seen:
    seed, orders = parameters.integer("seed"), parameters.integer("orders", 1)
    parameters.end()
    failed = 0
    for number in range(orders):
        before = process_memory()
        statuses = Statuses()
        context = choice.open()
        held = zeros(context, [4])
        second = copy(held)
        tape = Tape(context)
        tape.watch(held)
        view = reshape(tape, held, [2, 2])
        owners: list[Owner] = [context, held, second, tape, view]
        del context, held, second, tape, view
        for place in shuffled(5, seed, number):
            statuses.of(owners[place].close)
        after = process_memory()
        even = (after.live_handles, after.live_bytes) == (before.live_handles, before.live_bytes)
        failed += str(statuses) != "HXP_OK" or not even
    return {"orders": orders, "failed": failed}


def double_release(choice: Choice, parameters: Fields) -> Seen:
    parameters.end()
    statuses = Statuses()
    with choice.open() as context, zeros(context, [4]) as held:
        held.close()
        return {"status": statuses.of(lambda: release_again(held))}


def use_after_release(choice: Choice, parameters: Fields) -> Seen:
    parameters.end()
    with choice.open() as context, zeros(context, [4]) as held:
        held.close()
        return {"status": Statuses().of(held.read)}


def release_elsewhere(choice: Choice, parameters: Fields) -> Seen:
    parameters.end()
    statuses = Statuses()
    with choice.open() as context:
        held = zeros(context, [4])
        run_tasks([lambda: (statuses.of(held.close), None)[1]])
    return {"status": str(statuses)}


def close_race(choice: Choice, parameters: Fields) -> Seen:
    rounds = parameters.integer("rounds", 1)
    parameters.end()
    statuses, wrong = Statuses(), 0
    ones = np.ones(1024, np.float32)
    with choice.open() as context:
        for number in range(rounds):
            held = tensor(context, ones)
            start = threading.Barrier(2)
            found: list[bool] = []

            def read(
                held: Tensor = held, start: threading.Barrier = start, found: list[bool] = found
            ) -> None:
                start.wait()
                name = statuses.of(lambda: found.append(bool((held.read() == 1).all())))
                if name == "HXP_STALE_HANDLE":
                    found.append(True)

            def close(held: Tensor = held, start: threading.Barrier = start) -> None:
                start.wait()
                held.close()

            # Whoever meets the barrier last goes first: take turns at it.
            run_tasks([read, close] if number % 2 else [close, read])
            wrong += found != [True]
    return {"rounds": rounds, "wrong": wrong, "statuses": str(statuses)}


def finaliser_race(choice: Choice, parameters: Fields) -> Seen:
    rounds = parameters.integer("rounds", 1)
    parameters.end()
    statuses, wrong = Statuses(), 0
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            gc.collect(0)

    collector = threading.Thread(target=collect)
    with choice.open() as context:
        with zeros(context, [1]) as small:
            for _ in range(WARM_UP_CALLS):
                small.read()
        collector.start()
        try:
            for number in range(rounds):
                found: list[bool] = []

                def read(number: int = number, found: list[bool] = found) -> None:
                    found.append(bool((_numbered(context, number).read() == number).all()))

                statuses.of(read)
                wrong += found != [True]
        finally:
            stop.set()
            collector.join()
    return {"rounds": rounds, "wrong": wrong, "statuses": str(statuses)}


def _numbered(context: Context, number: int) -> Tensor:
    held = zeros(context, [65536])
    held.fill(float(number))
    return held


SCENARIOS: dict[str, Scenario] = {
    "accessors": accessors,
    "copies": copies,
    "drop_orders": drop_orders,
    "double_release": double_release,
    "use_after_release": use_after_release,
    "release_elsewhere": release_elsewhere,
    "close_race": close_race,
    "finaliser_race": finaliser_race,
}
