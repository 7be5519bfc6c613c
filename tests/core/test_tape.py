"""The tape: what is recorded, what a backward adds and where, what is gone afterwards; whole backward
passes give the same bits for any number of workers and in any repetition, and give all memory back when
any allocation of theirs fails."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from small_model import SmallModel


def gradient_of(core: Any, tape: int, tensor: int) -> Any:
    handle = core.make("tape_gradient", tape, tensor)
    values = core.read(handle)
    core.release("tensor", handle)
    return values


def test_nothing_is_recorded_unless_an_input_needs_it(core: Any, context: int) -> None:
    """Without a watched input an op keeps nothing: its inputs and scratch go when they are released."""
    x = core.tensor(context, np.ones((64, 64)))
    tape = core.make("tape_create", context)
    live = core.memory(context).live_bytes
    out = core.make("scale", tape, x, 2.0)
    deeper = core.make("swiglu", tape, out, out)
    with pytest.raises(Exception, match="HXP_NO_GRADIENT: output was not made"):
        core.call("tape_backward", tape, deeper, 0)
    core.release("tensor", out, deeper)
    assert core.memory(context).live_bytes == live
    core.release("tensor", x)
    core.release("tape", tape)


def test_frozen_factors_keep_nothing_alive(core: Any, context: int) -> None:
    """linear with a frozen w needs no x in backward: x's memory goes with its handle."""
    x = core.tensor(context, np.ones((64, 64)))
    w = core.tensor(context, np.ones((8, 64)))
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, x, 0)
    doubled = core.make("scale", tape, x, 2.0)
    live = core.memory(context).live_bytes
    out = core.make("linear", tape, doubled, w)
    core.release("tensor", doubled)
    assert core.memory(context).live_bytes == live - 64 * 64 * 4 + 64 * 8 * 4
    core.call("tape_backward", tape, out, 0)
    assert gradient_of(core, tape, x).tolist() == np.full((64, 64), 16.0).tolist()
    core.release("tensor", x, w, out)
    core.release("tape", tape)


def test_backward_adds_and_records_are_gone_afterwards(core: Any, context: int) -> None:
    x = core.tensor(context, [1, 2])
    gradient = core.tensor(context, [10, 20])
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, x, gradient)
    for expected in ([13, 23], [16, 26]):
        out = core.make("scale", tape, x, 3.0)
        core.call("tape_backward", tape, out, 0)
        assert core.read(gradient).tolist() == expected
        with pytest.raises(Exception, match="HXP_NO_GRADIENT"):
            core.call("tape_backward", tape, out, 0)
        core.release("tensor", out)
    core.release("tensor", x, gradient)
    core.release("tape", tape)


def test_a_tensor_used_more_than_once(core: Any, context: int) -> None:
    """Sums over all uses: twice in one op, in two ops, and through tensors that only pass gradients on."""
    x = core.tensor(context, [[1, 2], [3, 4]])
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, x, 0)
    twice = core.make("add", tape, x, x)
    again = core.make("add", tape, twice, twice)
    shaped = core.make("reshape", tape, again, 2, [2, 2])
    mixed = core.make("add", tape, shaped, x)
    squared = core.make("matmul", tape, mixed, mixed)
    core.call("tape_backward", tape, squared, 0)
    # mixed = 5x; d sum(mixed · mixed) = 1·mixedᵀ + mixedᵀ·1, times 5.
    mixed_values = 5 * np.array([[1, 2], [3, 4]])
    ones = np.ones((2, 2))
    assert (
        gradient_of(core, tape, x).tolist() == (5 * (ones @ mixed_values.T + mixed_values.T @ ones)).tolist()
    )
    core.release("tensor", x, twice, again, shaped, mixed, squared)
    core.release("tape", tape)


def test_gradients_add_up_in_reverse_order_of_recording(core: Any, context: int) -> None:
    """1e8, 1 and −1e8 in f32: newest first, (1e8 + 1) − 1e8 is 0, but (1e8 − 1e8) + 1 is 1."""
    for factors, expected in (([-1e8, 1, 1e8], 0.0), ([1, -1e8, 1e8], 1.0)):
        x = core.tensor(context, [1])
        tape = core.make("tape_create", context)
        core.call("tape_watch", tape, x, 0)
        parts = [core.make("scale", tape, x, float(factor)) for factor in factors]
        # The sum's own record order makes every part's gradient 1; parts are then walked newest first.
        first = core.make("add", tape, parts[0], parts[1])
        total = core.make("add", tape, first, parts[2])
        core.call("tape_backward", tape, total, 0)
        assert gradient_of(core, tape, x).tolist() == [expected]
        core.release("tensor", x, first, total, *parts)
        core.release("tape", tape)


def test_a_watched_output_gets_its_gradient_and_passes_it_on(core: Any, context: int) -> None:
    x = core.tensor(context, [1, 2])
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, x, 0)
    middle = core.make("scale", tape, x, 2.0)
    core.call("tape_watch", tape, middle, 0)
    out = core.make("scale", tape, middle, 5.0)
    core.call("tape_backward", tape, out, 0)
    assert gradient_of(core, tape, middle).tolist() == [5, 5]
    assert gradient_of(core, tape, x).tolist() == [10, 10]
    core.release("tensor", x, middle, out)
    core.release("tape", tape)


def test_two_tensors_with_one_gradient(core: Any, context: int) -> None:
    a, b, gradient = (core.tensor(context, values) for values in ([1, 2], [3, 4], [0, 0]))
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, a, gradient)
    core.call("tape_watch", tape, b, gradient)
    out = core.make("swiglu", tape, a, b)
    core.call("tape_backward", tape, out, 0)
    s = 1 / (1 + np.exp(-np.array([1.0, 2.0])))
    expected = np.array([3, 4]) * (s + np.array([1, 2]) * s * (1 - s)) + np.array([1, 2]) * s
    assert np.allclose(core.read(gradient), expected, rtol=1e-6)
    core.release("tensor", a, b, gradient, out)
    core.release("tape", tape)


def test_watching_again_replaces_the_gradient(core: Any, context: int) -> None:
    x, first, second = (core.tensor(context, values) for values in ([1], [0], [0]))
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, x, first)
    core.call("tape_watch", tape, x, second)
    out = core.make("scale", tape, x, 3.0)
    core.call("tape_backward", tape, out, 0)
    assert (core.read(first).tolist(), core.read(second).tolist()) == ([0], [3])
    core.release("tensor", x, first, second, out)
    core.release("tape", tape)


def test_refusals_and_reset(core: Any, context: int) -> None:
    x, wrong = core.tensor(context, [1, 2]), core.tensor(context, [1, 2, 3])
    tape = core.make("tape_create", context)
    with pytest.raises(Exception, match="HXP_NO_GRADIENT: the tensor is not watched"):
        core.make("tape_gradient", tape, x)
    with pytest.raises(Exception, match=r"HXP_INVALID_ARGUMENT: gradient has shape \(3\), the tensor \(2\)"):
        core.call("tape_watch", tape, x, wrong)
    core.call("tape_watch", tape, x, 0)
    with pytest.raises(Exception, match="HXP_NO_GRADIENT"):
        core.call("tape_backward", tape, x, 0)  # watched, but no operation made it
    out = core.make("scale", tape, x, 3.0)
    with pytest.raises(Exception, match=r"HXP_INVALID_ARGUMENT: incoming has shape \(3\), output \(2\)"):
        core.call("tape_backward", tape, out, wrong)
    with pytest.raises(Exception, match="HXP_NO_GRADIENT"):
        core.call("tape_backward", tape, out, 0)  # the records went with the failure
    later = core.make("scale", tape, x, 3.0)
    core.call("tape_reset", tape)
    with pytest.raises(Exception, match="HXP_NO_GRADIENT"):
        core.call("tape_backward", tape, later, 0)
    assert gradient_of(core, tape, x).tolist() == [0, 0]
    core.release("tensor", x, wrong, out, later)
    core.release("tape", tape)


def test_a_new_tensor_is_not_taken_for_an_old_one(core: Any, context: int) -> None:
    """Outputs that were released leave no trace by which a tensor at their address could pass for them."""
    x = core.tensor(context, [1, 2])
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, x, 0)
    for _ in range(50):
        core.release("tensor", core.make("scale", tape, x, 3.0))
    for _ in range(50):
        fresh = core.tensor(context, [5, 5])
        out = core.make("scale", tape, fresh, 1.0)
        with pytest.raises(Exception, match="HXP_NO_GRADIENT"):
            core.call("tape_backward", tape, out, 0)
        core.release("tensor", fresh, out)
    core.release("tensor", x)
    core.release("tape", tape)


def step_bytes(core: Any, threads: int, repeats: int = 1) -> set[bytes]:
    seen = set()
    context = core.context(threads=threads)
    for _ in range(repeats):
        model = SmallModel(core, context)
        losses = model.step()
        model.step()
        seen.add(losses + model.gradient_bytes())
        model.close()
    core.release("context", context)
    return seen


def test_the_same_bits_for_any_number_of_workers_twenty_times(core: Any) -> None:
    """Losses and accumulated gradients of two steps: one worker, two workers twenty times, four, seven, and
    other calling threads."""
    alone = step_bytes(core, 1)
    assert len(alone) == 1
    assert step_bytes(core, 2, repeats=20) == alone
    assert step_bytes(core, 4, repeats=3) == alone
    assert step_bytes(core, 7) == alone
    elsewhere: list[set[bytes]] = []
    threads = [threading.Thread(target=lambda: elsewhere.append(step_bytes(core, 2))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert elsewhere == [alone] * 3


def test_b2_every_failing_allocation_gives_everything_back(core: Any, context: int) -> None:
    """CASES B2b: let the first, second, … allocation of a step fail. Each time the step answers
    HXP_OUT_OF_MEMORY, live bytes are what they were, gradients are untouched, and the step after gives
    the right bits."""
    model = SmallModel(core, context)
    right = model.step()
    single = model.gradient_bytes()
    live = core.memory(context).live_bytes
    allocations = core.memory(context).allocations
    model.step()
    count = core.memory(context).allocations - allocations
    assert count > 20
    for gradient in model.gradients:
        core.call("tensor_fill", gradient, 0.0)
    for nth in range(1, count + 1):
        core.call("context_fail_allocation", context, nth, 0)
        with pytest.raises(Exception, match="HXP_OUT_OF_MEMORY"):
            model.step()
        core.call("tape_reset", model.tape)
        assert core.memory(context).live_bytes == live, f"allocation {nth} left bytes behind"
        assert not any(model.gradient_bytes()), f"allocation {nth} left a half-added gradient"
    core.call("context_fail_allocation", context, 0, 0)
    assert model.step() == right
    assert model.gradient_bytes() == single
    model.close()


def test_memory_of_a_step_does_not_depend_on_workers(core: Any) -> None:
    peaks = set()
    for threads in (1, 2, 4):
        context = core.context(threads=threads)
        model = SmallModel(core, context)
        model.step()
        peaks.add(core.memory(context).peak_bytes)
        model.close()
        core.release("context", context)
    assert len(peaks) == 1
