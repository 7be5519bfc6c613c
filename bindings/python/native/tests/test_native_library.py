"""The package as a program uses it: values without copies, owners, errors and the pressure hook."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from copy import copy
from pathlib import Path

import hexapla_native as hxp
import numpy as np
import pytest
from conftest import ENVIRONMENT, FOLDER, NATIVE
from hexapla_native.testing import release_again


@pytest.fixture
def context():
    before = hxp.process_memory()
    with hxp.Context("cpu:0") as made:
        yield made
    gc.collect()
    after = hxp.process_memory()
    assert (after.live_handles, after.live_bytes) == (before.live_handles, before.live_bytes)


def four(context: hxp.Context) -> hxp.Tensor:
    return hxp.tensor(context, np.array([1, 2, 3, 4], np.float32))


def test_view_is_the_tensors_memory_and_outlives_its_owner(context):
    """A view sees a later write without being asked again, and holds the bytes after the close."""
    tensor = four(context)
    view = tensor.view()
    tensor.add_in_place(1.0)
    assert view.tolist() == [2, 3, 4, 5]
    tensor.close()
    assert view.tolist() == [2, 3, 4, 5]
    assert context.memory().live_bytes == 16
    del view
    assert context.memory().live_bytes == 0


def test_strided_view_has_numpys_strides(context):
    with four(context) as tensor, hxp.as_strided(None, tensor, [2, 2], [1, 2]) as strided:
        assert strided.view().tolist() == [[1, 3], [2, 4]]
        assert strided.read().tolist() == [[1, 3], [2, 4]]


def test_asarray_shares_memory_unless_a_copy_is_asked_for(context):
    with four(context) as tensor:
        assert np.shares_memory(np.asarray(tensor), tensor.view())
        assert not np.shares_memory(np.array(tensor, copy=True), tensor.view())


def test_arrays_of_another_type_are_refused_rather_than_converted(context):
    """A silent conversion would copy, and hide a caller's mistake."""
    with pytest.raises(TypeError):
        hxp.tensor(context, np.zeros(3))
    with four(context) as tensor, pytest.raises(TypeError):
        hxp.embedding(None, tensor, np.array([0]))


def test_spilled_tensor_has_no_view_but_can_be_read():
    with (
        hxp.Context("cpu:0", memory_limit=1024, spill=True) as context,
        hxp.zeros(context, [1024]) as tensor,
    ):
        assert tensor.device == "host"
        with pytest.raises(hxp.Error, match="HXP_UNSUPPORTED"):
            tensor.view()
        assert np.asarray(tensor).shape == (1024,)


def test_copies_share_values_and_close_once_each(context):
    first = four(context)
    second = copy(first)
    assert context.memory().live_handles == 3
    first.close()
    first.close()
    assert second.read().tolist() == [1, 2, 3, 4]
    with pytest.raises(hxp.Error) as caught:
        release_again(first)
    assert caught.value.status == "HXP_STALE_HANDLE"
    second.close()


def test_dropping_the_last_reference_gives_the_share_back(context):
    tensor = four(context)
    assert context.memory().live_bytes == 16
    del tensor
    assert context.memory().live_bytes == 0
    assert context.memory().live_handles == 1


def test_tensors_of_two_contexts_are_refused(context):
    with (
        hxp.Context("cpu:1") as other,
        four(context) as a,
        four(other) as b,
        pytest.raises(hxp.Error, match="another context"),
    ):
        hxp.add(None, a, b)


def test_error_carries_status_and_text(context):
    with pytest.raises(hxp.Error) as caught:
        hxp.zeros(context, [-7])
    assert (caught.value.status, caught.value.message) == (
        "HXP_INVALID_ARGUMENT",
        "size -7 of axis 0 is negative",
    )


def test_hook_that_raises_surfaces_as_the_cause_of_that_call_alone():
    def hook(need: int, live: int, limit: int) -> bool:
        raise KeyError("mine")

    with hxp.Context("cpu:0", memory_limit=1024, pressure_hook=hook) as context:
        with pytest.raises(hxp.OutOfMemoryError) as caught:
            hxp.zeros(context, [1024])
        assert isinstance(caught.value.__cause__, KeyError)
        with pytest.raises(hxp.Error) as later:
            hxp.zeros(context, [-1])
        assert later.value.__cause__ is None


def test_collect_rescues_what_cycles_hold():
    class Cycle:
        def __init__(self, tensor: hxp.Tensor) -> None:
            self.tensor, self.itself = tensor, self

    gc.disable()
    try:
        with hxp.Context("cpu:0", memory_limit=1 << 20, pressure_hook=hxp.collect) as context:
            for _ in range(40):
                Cycle(hxp.zeros(context, [1 << 16]))
            assert context.memory().pressure_rescues > 0
    finally:
        gc.enable()
    gc.collect()


def test_other_threads_run_while_a_call_blocks():
    """The interpreter's lock is let go in a gate, or this would never end."""
    with hxp.Gate() as gate:
        thread = threading.Thread(target=gate.wait)
        thread.start()
        gate.open()
        thread.join(timeout=30)
        assert not thread.is_alive()


def test_gradient_of_a_product(context):
    """d/dx of sum(x wᵀ) is the sum of w's rows."""
    w_host = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    with (
        hxp.tensor(context, np.ones((1, 2), np.float32)) as x,
        hxp.tensor(context, w_host) as w,
        hxp.Tape(context) as tape,
    ):
        tape.watch(x)
        with hxp.linear(tape, x, w) as y:
            tape.backward(y)
        with tape.gradient(x) as gradient:
            assert gradient.read().tolist() == [[9, 12]]


def test_module_shows_its_init_function_alone():
    """A symbol of core that leaked could be taken for another library's."""
    (module,) = Path(FOLDER).glob("_hexapla_native*.so")
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", module], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [word for word in shown[2::3]] == ["PyInit__hexapla_native"]


def test_example_runs():
    run = subprocess.run(
        [sys.executable, NATIVE / "examples/least_squares.py"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "[[1.0, -2.0, 0.5]]\n"
