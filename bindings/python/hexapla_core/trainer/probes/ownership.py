"""Ownership of handles: scenarios C1, C2, release orders, mistakes, and races with close and collector."""

from __future__ import annotations

import copy
import gc
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from hexapla_core.safe import Context, Handle, HexaplaError, StaleHandle, Tape, Tensor, ops, process_memory
from hexapla_core.safe.testing import disown, release_tensor
from hexapla_core.trainer.order import permutation
from hexapla_core.trainer.probes.common import (
    OK,
    Choice,
    Parameters,
    Scenario,
    Seen,
    distinct,
    shown,
    status_of,
)
from hexapla_core.trainer.train import open_context

ONE_TO_FOUR = "1 2 3 4"
CLOSE_RACE_ELEMENTS, FINALISER_ELEMENTS, WARM_UP_CALLS = 1024, 65536, 20_000
SWITCH_INTERVAL_S = 1e-4  # Python's 5 ms would let a round see one collection or none


class Parent:
    """Owns a tensor; `get` hands out owners of their own."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def get(self) -> Tensor:
        """A new owner of the tensor."""
        return self.tensor.copy()


def accessors(choice: Choice, parameters: Parameters) -> Seen:
    """C1: what accessors hand out is released without harm to the parent."""
    statuses, value = [], ONE_TO_FOUR

    def look(tensor: Tensor) -> None:
        nonlocal value
        if value == ONE_TO_FOUR:
            value = shown(tensor)

    with open_context(choice) as context:
        for _ in range(parameters["repeats"]):
            parent = Parent(Tensor.of(context, [1, 2, 3, 4]))
            a, b = parent.get(), parent.get()
            statuses += [status_of(a.close), status_of(b.close)]
            look(parent.tensor)
            c = ops.reshape(None, parent.tensor, (2, 2))
            statuses.append(status_of(c.close))
            look(parent.tensor)
            statuses.append(status_of(parent.tensor.close))
    return {"value": value, "statuses": distinct(statuses)}


def copies(choice: Choice, parameters: Parameters) -> Seen:
    """C2: copies share storage, and each is an owner."""
    statuses, value = [], ""
    with open_context(choice) as context:
        for _ in range(parameters["repeats"]):
            a = Tensor.of(context, [1, 2, 3, 4])
            c, b = copy.copy(a), copy.copy(a)
            statuses.append(status_of(a.close))
            with b, c:
                with ops.reduce_sum(None, b, 0) as total:
                    read = shown(total)
                b.add_in_place(1.0)
                value = shown(c) if read == "10" else f"sum {read}"
                statuses += [status_of(b.close), status_of(c.close)]
            if value != "2 3 4 5":
                break
    return {"value": value, "statuses": distinct(statuses)}


def drop_orders(choice: Choice, parameters: Parameters) -> Seen:
    """Five handles that hold each other, released in every order that the seed gives."""
    failed = 0
    for epoch in range(parameters["orders"]):
        before = process_memory()
        handles = _family(choice)
        order = permutation(len(handles), parameters["seed"], epoch)
        statuses = [status_of(handles[index].close) for index in order]
        after = process_memory()
        same = (before.live_handles, before.live_bytes) == (after.live_handles, after.live_bytes)
        failed += set(statuses) != {OK} or not same
    return {"orders": parameters["orders"], "failed": failed}


def _family(choice: Choice) -> list[Handle]:
    context = open_context(choice)
    tensor = Tensor(context, (4,))
    second = tensor.copy()
    tape = Tape(context)
    tape.watch(tensor)
    return [context, tensor, second, tape, ops.reshape(tape, tensor, (2, 2))]


def double_release(choice: Choice, parameters: Parameters) -> Seen:
    """One id released twice; the wrapper's own close would not do it."""
    with open_context(choice) as context:
        identifier = disown(Tensor(context, (1,)))
        release_tensor(identifier)
        return {"status": status_of(lambda: release_tensor(identifier))}


def use_after_release(choice: Choice, parameters: Parameters) -> Seen:
    """A closed tensor is read."""
    with open_context(choice) as context:
        tensor = Tensor(context, (1,))
        tensor.close()
        return {"status": status_of(tensor.read)}


def release_elsewhere(choice: Choice, parameters: Parameters) -> Seen:
    """Made on this thread, closed on another."""
    with open_context(choice) as context, ThreadPoolExecutor(1) as pool:
        tensor = Tensor(context, (1,))
        return {"status": pool.submit(status_of, tensor.close).result()}


def close_race(choice: Choice, parameters: Parameters) -> Seen:
    """One thread reads through the wrapper while another closes it."""
    ones = struct.pack("f", 1.0) * CLOSE_RACE_ELEMENTS
    statuses, wrong = [], 0
    start = threading.Barrier(2)

    def read(tensor: Tensor) -> tuple[str, bool]:
        start.wait()
        try:
            return OK, tensor.read().tobytes() == ones
        except StaleHandle as error:
            return error.status, True
        except HexaplaError as error:
            return error.status, False

    def close(tensor: Tensor) -> None:
        start.wait()
        tensor.close()

    with open_context(choice) as context, ThreadPoolExecutor(2) as pool:
        for _ in range(parameters["rounds"]):
            tensor = Tensor(context, (CLOSE_RACE_ELEMENTS,))
            tensor.fill(1.0)
            reading, closing = pool.submit(read, tensor), pool.submit(close, tensor)
            closing.result()
            status, right = reading.result()
            statuses.append(status)
            wrong += not right
    return {"rounds": parameters["rounds"], "wrong": wrong, "statuses": distinct(statuses)}


def finaliser_race(choice: Choice, parameters: Parameters) -> Seen:
    """A read that is the last use of its tensor, while another thread collects without pause."""
    done = threading.Event()

    def collect() -> None:
        while not done.is_set():
            gc.collect()

    with open_context(choice) as context:
        _warm_up(context)
        wrong, statuses = 0, []
        with _beside(collect, done):
            for number in range(1, parameters["rounds"] + 1):
                status, right = _last_use(context, number)
                statuses.append(status)
                wrong += not right
    return {"rounds": parameters["rounds"], "wrong": wrong, "statuses": distinct(statuses)}


@contextmanager
def _beside(function: Callable[[], None], done: threading.Event) -> Iterator[None]:
    """Run a function on another thread for the length of a block, and let the two alternate often."""
    thread, interval_s = threading.Thread(target=function), sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval_s)


def _warm_up(context: Context) -> None:
    with Tensor(context, (1,)) as tensor:
        for _ in range(WARM_UP_CALLS // 2):  # a read is two calls: describe and read
            tensor.read()


def _last_use(context: Context, number: int) -> tuple[str, bool]:
    expected = struct.pack("f", float(number)) * FINALISER_ELEMENTS
    try:
        return OK, _filled(context, number).read().tobytes() == expected
    except HexaplaError as error:
        return error.status, False


def _filled(context: Context, number: int) -> Tensor:
    tensor = Tensor(context, (FINALISER_ELEMENTS,))
    tensor.fill(float(number))
    return tensor


SCENARIOS = {
    "accessors": Scenario(accessors, {"repeats": "i"}),
    "copies": Scenario(copies, {"repeats": "i"}),
    "drop_orders": Scenario(drop_orders, {"seed": "i", "orders": "i"}),
    "double_release": Scenario(double_release),
    "use_after_release": Scenario(use_after_release),
    "release_elsewhere": Scenario(release_elsewhere),
    "close_race": Scenario(close_race, {"rounds": "i"}),
    "finaliser_race": Scenario(finaliser_race, {"rounds": "i"}),
}
