"""Gates block without a lock, open for good, and open by themselves when nobody can open them any more."""

from __future__ import annotations

import threading
import time

import pytest
from core_calls import Core, CoreError


def waiting(core: Core, gate: int, count: int = 1) -> list[threading.Thread]:
    threads = [
        threading.Thread(target=core.call, args=("gate_wait", gate), daemon=True) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert all(thread.is_alive() for thread in threads)
    return threads


def all_end(threads: list[threading.Thread]) -> bool:
    for thread in threads:
        thread.join(10)
    return not any(thread.is_alive() for thread in threads)


def test_open_wakes_every_waiter_and_stays_open(core: Core) -> None:
    gate = core.make("gate_create")
    threads = waiting(core, gate, 8)
    core.call("gate_open", gate)
    assert all_end(threads)
    core.call("gate_open", gate)
    core.call("gate_wait", gate)
    core.release("gate", gate)
    with pytest.raises(CoreError, match="HXP_STALE_HANDLE"):
        core.call("gate_wait", gate)


def test_waiters_hold_no_lock(core: Core, context: int) -> None:
    gate = core.make("gate_create")
    threads = waiting(core, gate, 4)
    core.release("tensor", core.tensor(context, [1.0]))
    core.call("gate_open", gate)
    assert all_end(threads)
    core.release("gate", gate)


def test_a_released_gate_opens_with_its_last_id(core: Core) -> None:
    gate = core.make("gate_create")
    other = core.make("gate_retain", gate)
    threads = waiting(core, gate)
    core.release("gate", gate)
    time.sleep(0.05)
    assert threads[0].is_alive()
    core.release("gate", other)
    assert all_end(threads)
