"""Device memory: counts, limit, pressure hook, injected failures, spill (CASES B1)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from core_calls import Core, CoreError

MIB = 1 << 20


def limited(core: Core, hook: Callable[[int, int, int], int], **options: object) -> tuple[int, object]:
    """A context with a hook; the callback must be kept alive by the caller."""
    callback = core.ffi.callback("hxp_pressure_hook", lambda _, *numbers: hook(*numbers), error=0)
    return core.context(pressure_hook=callback, **options), callback


def test_live_bytes_are_what_tensors_hold(core: Core, context: int) -> None:
    tensors = [core.empty(context, size) for size in (0, 1, 1000, 300_000)]
    assert core.memory(context).live_bytes == 4 * 301_001
    assert core.memory(context).live_handles == 5
    assert core.memory(context).allocations == 3
    core.release("tensor", *tensors)
    memory = core.memory(context)
    assert (memory.live_bytes, memory.peak_bytes, memory.live_handles) == (0, 4 * 301_001, 1)
    core.call("context_reset_peak", context)
    assert core.memory(context).peak_bytes == 0


def test_the_limit_is_exact_and_the_text_names_what_matters(core: Core) -> None:
    context = core.context(memory_limit=16 * MIB)
    tensors = [core.empty(context, MIB) for _ in range(4)]
    with pytest.raises(CoreError) as caught:
        core.empty(context, 1)
    assert caught.value.status == "HXP_OUT_OF_MEMORY"
    assert caught.value.text == "need 4 bytes, live 16777216, limit 16777216, live handles 5"
    core.release("tensor", tensors.pop())
    tensors.append(core.empty(context, MIB))  # usable afterwards
    core.release("tensor", *tensors)
    core.release("context", context)


@pytest.mark.parametrize("shape", [(2**62,), (2**31, 2**31), (0, 2**40, 2**40)])
def test_sizes_beyond_counting_are_refused(core: Core, context: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(CoreError, match=r"HXP_INVALID_ARGUMENT: shape .* more bytes than 63 bits"):
        core.empty(context, *shape)


def test_a_size_that_no_machine_has_is_out_of_memory(core: Core, context: int) -> None:
    with pytest.raises(CoreError, match=f"need {2**60} bytes, live 0, limit none, live handles 1"):
        core.empty(context, 2**58)
    assert core.memory(context).live_bytes == 0


def test_small_wrappers_large_buffers_closed(core: Core) -> None:
    """B1 with explicit close: 200 turns of 64 MiB under 1,024 MiB."""
    context = core.context(memory_limit=1024 * MIB)
    for _ in range(200):
        core.release("tensor", core.empty(context, 16 * MIB))
    memory = core.memory(context)
    assert (memory.live_bytes, memory.peak_bytes) == (0, 64 * MIB)
    core.release("context", context)


def test_small_wrappers_large_buffers_dropped(core: Core) -> None:
    """B1 without close and without a hook: out of memory at turn 17, naming the live handles."""
    context = core.context(memory_limit=1024 * MIB)
    tensors = []
    with pytest.raises(CoreError, match=r"HXP_OUT_OF_MEMORY: .*live handles 17$"):
        for _ in range(200):
            tensors.append(core.empty(context, 16 * MIB))
    assert len(tensors) == 16
    core.release("tensor", *tensors)
    core.release("context", context)


def test_the_pressure_hook_rescues(core: Core) -> None:
    held: list[int] = []
    told: list[tuple[int, int, int]] = []
    thread: list[int] = []

    def hook(need: int, live: int, limit: int) -> int:
        told.append((need, live, limit))
        thread.append(threading.get_ident())
        assert core.memory(context).live_bytes == live  # queries work inside
        core.release("tensor", *held)
        held.clear()
        return 1

    context, _keep = limited(core, hook, memory_limit=16 * MIB)
    for _ in range(100):
        held.append(core.empty(context, MIB))
    core.release("tensor", *held)
    memory = core.memory(context)
    assert told == [(4 * MIB, 16 * MIB, 16 * MIB)] * 24
    assert set(thread) == {threading.get_ident()}
    assert (memory.pressure_calls, memory.pressure_rescues, memory.peak_bytes) == (24, 24, 16 * MIB)
    core.release("context", context)


def test_the_hook_is_called_a_bounded_number_of_times(core: Core) -> None:
    calls: list[int] = []
    context, _keep = limited(core, lambda *_: calls.append(1) or 1, memory_limit=4, pressure_retries=3)
    with pytest.raises(CoreError, match="HXP_OUT_OF_MEMORY"):
        core.empty(context, 2)
    assert len(calls) == 3
    core.release("context", context)


def test_a_hook_that_gives_up_is_not_asked_again(core: Core) -> None:
    calls: list[int] = []
    context, _keep = limited(core, lambda *_: calls.append(1) or 0, memory_limit=4)
    with pytest.raises(CoreError, match="HXP_OUT_OF_MEMORY"):
        core.empty(context, 2)
    assert len(calls) == 1
    core.release("context", context)


def test_calls_inside_the_hook_answer_busy_and_other_threads_wait(core: Core) -> None:
    statuses: list[str] = []
    order: list[str] = []
    others: list[threading.Thread] = []

    def fill_late() -> None:
        core.call("tensor_fill", tensor, 2.0)
        order.append("other")

    def hook(*_: int) -> int:
        for call in (
            lambda: core.empty(context, 1),
            lambda: core.read(tensor),
            lambda: core.make("tensor_retain", tensor),
            lambda: core.make("tensor_context", tensor),
            lambda: core.call("context_mark", context, 1),
            lambda: core.info(tensor),
        ):
            with pytest.raises(CoreError) as caught:
                call()
            statuses.append(caught.value.status)
        others.append(threading.Thread(target=fill_late))
        others[0].start()
        time.sleep(0.05)
        order.append("hook")
        released = threading.Thread(target=core.release, args=("tensor", spare))
        released.start()
        released.join()  # a release on another thread does not wait for the call
        return 1

    context, _keep = limited(core, hook, memory_limit=16)
    tensor, spare = core.empty(context, 2), core.empty(context, 2)
    made = core.empty(context, 2)
    others[0].join()
    assert statuses == ["HXP_BUSY"] * 6
    assert order == ["hook", "other"]
    assert core.read(tensor).tolist() == [2.0, 2.0]
    core.release("tensor", tensor, made)
    core.release("context", context)


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_fail_the_nth_allocation_once(core: Core, nth: int) -> None:
    calls: list[int] = []
    context, _keep = limited(core, lambda *_: calls.append(1) or 1, pressure_retries=2)
    core.call("context_fail_allocation", context, nth, 0)
    made, failed = [], []
    for turn in range(1, 5):
        try:
            made.append(core.empty(context, 8))
        except CoreError as error:
            assert error.status == "HXP_OUT_OF_MEMORY"
            failed.append(turn)
    assert (failed, len(calls)) == ([nth], 2)
    assert core.memory(context).injected_failures == 1
    assert core.memory(context).live_bytes == 32 * len(made)
    core.release("tensor", *made)
    core.release("context", context)


def test_fail_every_allocation_from_the_nth_on_until_switched_off(core: Core, context: int) -> None:
    core.call("context_fail_allocation", context, 2, 1)
    tensors = [core.empty(context, 8)]
    for _ in range(3):
        with pytest.raises(CoreError, match="HXP_OUT_OF_MEMORY"):
            core.empty(context, 8)
    core.call("context_fail_allocation", context, 0, 0)
    tensors.append(core.empty(context, 8))
    core.release("tensor", *tensors)
    assert core.memory(context).injected_failures == 3


def test_spilled_buffers_hold_their_values_and_are_counted(core: Core) -> None:
    context = core.context(memory_limit=32, flags=core.lib.HXP_SPILL)
    near, far = core.tensor(context, np.arange(8)), core.tensor(context, np.arange(8))
    out = core.ffi.new("char[32]")
    core.call("tensor_device", far, out, 32)
    assert core.ffi.string(out) == b"host"
    core.call("tensor_add_in_place", far, 1.0)
    core.call("tensor_add_in_place", near, 1.0)
    assert core.read(far).tolist() == core.read(near).tolist() == list(range(1, 9))
    memory = core.memory(context)
    assert (memory.live_bytes, memory.spilled_bytes) == (64, 32)
    core.release("tensor", far)
    assert (core.memory(context).live_bytes, core.memory(context).spilled_bytes) == (32, 0)
    core.release("tensor", near)
    core.release("context", context)


def test_operations_on_spilled_tensors_give_the_same_bits_and_are_recorded(
    core: Core, tmp_path: Path
) -> None:
    """A linear map forward and backward, all past the limit: values as without, each touch copied."""
    generator = np.random.default_rng(3)
    x, w = generator.standard_normal((5, 7)), generator.standard_normal((3, 7))

    def run(**options: object) -> tuple[bytes, bytes, int]:
        context = core.context(**options)
        tape = core.make("tape_create", context)
        inputs = [core.tensor(context, x), core.tensor(context, w)]
        core.call("tape_watch", tape, inputs[1], 0)
        out = core.make("linear", tape, *inputs)
        core.call("tape_backward", tape, out, 0)
        gradient = core.make("tape_gradient", tape, inputs[1])
        values = core.read(out).tobytes(), core.read(gradient).tobytes(), core.memory(context).spilled_bytes
        core.release("tape", tape)
        core.release("tensor", *inputs, out, gradient)
        core.release("context", context)
        return values

    path = tmp_path / "ledger.bin"
    plain, spilled = run(), run(memory_limit=4, flags=core.lib.HXP_SPILL, ledger_path=path)
    assert plain[:2] == spilled[:2]
    assert (plain[2], spilled[2]) == (0, 4 * (5 * 7 + 3 * 7 + 5 * 3 + 3 * 7))
    # The record's operation lies at byte 52; writing both inputs alone copies four times.
    ring = np.fromfile(path, dtype=np.uint8, offset=4096)[: 64 * 200].reshape(-1, 64)
    operations = ring[:, 52:54].copy().view(np.uint16).ravel()
    assert (operations == core.lib.HXP_OPERATION_SPILL).sum() >= 4


def test_new_tensors_are_zero_whatever_lay_there_before(core: Core, context: int) -> None:
    """Freed blocks are kept for reuse: each size class must be cleared again."""
    for size in (1, 100, 20_000, 200_000, 300_000):
        for _ in range(3):
            tensor = core.empty(context, size)
            assert not core.read(tensor).any()
            core.call("tensor_fill", tensor, 9.0)
            core.release("tensor", tensor)


def test_process_account_sums_over_contexts_and_counts_what_has_none(core: Core) -> None:
    before = core.memory()
    handles = before.live_handles
    contexts = [core.context(), core.context("cpu:1")]
    tensors = [core.empty(context, 256) for context in contexts]
    gate = core.make("gate_create")
    after = core.memory()
    assert (after.live_handles - handles, after.live_bytes - before.live_bytes) == (5, 2048)
    assert after.peak_bytes >= after.live_bytes
    core.release("tensor", *tensors)
    core.release("context", *contexts)
    core.release("gate", gate)
    assert core.memory().live_handles == handles
