"""Statuses become exceptions with core's text; what a pressure hook raises is not lost."""

from __future__ import annotations

import gc

import pytest
from hexapla_core import (
    Busy,
    Checkpoint,
    Context,
    DeviceError,
    FileError,
    InvalidArgument,
    OutOfMemory,
    Tensor,
    ops,
)

MEBIBYTE = 1 << 20


def test_the_text_is_one_line_with_the_value(context: Context) -> None:
    with pytest.raises(InvalidArgument, match="-7") as caught:
        Tensor(context, (-7,))
    assert "\n" not in str(caught.value)
    assert caught.value.status == "HXP_INVALID_ARGUMENT"


def test_exceptions_are_also_what_python_programs_expect() -> None:
    with pytest.raises(OSError, match="No such file"):
        Checkpoint("/nonexistent/hexapla")
    with pytest.raises(DeviceError):
        Context("cuda:255")
    assert issubclass(OutOfMemory, MemoryError)
    assert issubclass(FileError, OSError)


def test_out_of_memory_leaves_the_context_usable() -> None:
    with Context(memory_limit=MEBIBYTE) as context:
        with pytest.raises(OutOfMemory, match="live handles"):
            Tensor(context, (MEBIBYTE,))
        Tensor(context, (4,)).close()


def test_the_hook_of_a_plain_context_collects_cycles() -> None:
    gc.disable()
    try:
        with Context(memory_limit=4 * MEBIBYTE) as context:
            for _ in range(20):
                ring: list[object] = [Tensor(context, (MEBIBYTE // 4,))]
                ring.append(ring)
            del ring
            assert context.memory().pressure_rescues > 0
    finally:
        gc.enable()


def test_without_a_hook_cycles_fill_the_context() -> None:
    gc.disable()
    rings = []
    try:
        with Context(memory_limit=4 * MEBIBYTE, pressure_hook=None) as context:
            with pytest.raises(OutOfMemory):
                for _ in range(20):
                    ring: list[object] = [Tensor(context, (MEBIBYTE // 4,))]
                    ring.append(ring)
            rings.append(ring)
    finally:
        gc.enable()


def test_what_a_hook_raises_becomes_the_cause() -> None:
    def hook(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
        raise KeyError(f"{need_bytes} {limit_bytes}")

    with Context(memory_limit=MEBIBYTE, pressure_hook=hook) as context:
        with pytest.raises(OutOfMemory) as caught:
            Tensor(context, (MEBIBYTE,))
        assert isinstance(caught.value.__cause__, KeyError)
        with pytest.raises(InvalidArgument) as other:
            Tensor(context, (-1,))
        assert other.value.__cause__ is None


def test_a_hook_that_frees_rescues_and_cannot_allocate() -> None:
    answers: list[BaseException] = []

    def hook(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
        try:
            Tensor(context, (1,))
        except Busy as error:
            answers.append(error)
        held.close()
        return True

    with Context(memory_limit=MEBIBYTE, pressure_hook=hook) as context:
        held = Tensor(context, (MEBIBYTE // 4,))
        with Tensor(context, (MEBIBYTE // 8,)):
            assert len(answers) == 1
            assert held.closed


def test_a_hook_lives_as_long_as_a_context_that_was_given_it() -> None:
    calls = []

    def hook(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
        calls.append(need_bytes)
        return False

    first = Context(memory_limit=MEBIBYTE, pressure_hook=hook)
    second = first.copy()
    first.close()
    del first
    gc.collect()
    with second, pytest.raises(OutOfMemory):
        Tensor(second, (MEBIBYTE,))
    assert calls == [4 * MEBIBYTE]


def test_lists_of_unequal_length_are_refused_before_c(context: Context) -> None:
    with Tensor(context, (2,)) as x, pytest.raises(ValueError, match="one stride an axis"):
        ops.as_strided(None, x, (2, 1), (1,))
