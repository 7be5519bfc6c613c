"""One wrapper, one owner: closing, copying, forgetting, from any thread and in any order."""

from __future__ import annotations

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from hexapla_core import Context, Gate, StaleHandle, Tape, Tensor, WrongKind, ops, process_memory
from hexapla_core.safe.testing import context_device, raw_id


def test_with_closes_and_closing_again_does_nothing(context: Context) -> None:
    with Tensor(context, (2,)) as tensor:
        assert not tensor.closed
    assert tensor.closed
    tensor.close()
    assert process_memory().stale_calls == 0 or tensor.closed


def test_a_closed_handle_is_stale_with_the_text_of_core(context: Context) -> None:
    tensor = Tensor(context, (2,))
    tensor.close()
    with pytest.raises(StaleHandle, match=r"^tensor handle 0x[0-9a-f]+ was released already$"):
        tensor.read()


def test_copies_share_values_and_are_owners(context: Context) -> None:
    first = Tensor.of(context, [1, 2, 3, 4])
    second, third = copy.copy(first), first.copy()
    first.close()
    with second, third:
        second.add_in_place(1.0)
        assert third.read().tolist() == [2, 3, 4, 5]


def test_no_deep_copy_and_no_pickle(context: Context) -> None:
    with Tensor(context, (1,)) as tensor:
        with pytest.raises(TypeError, match="deep copy"):
            copy.deepcopy(tensor)
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(tensor)


def test_children_outlive_parents() -> None:
    context = Context("cpu:1")
    tensor = Tensor.of(context, [1, 2])
    view = ops.reshape(None, tensor, (2, 1))
    context.close()
    tensor.close()
    with view:
        assert view.device == "cpu:1"
        assert view.read().tolist() == [[1], [2]]
        with view.context() as again:
            assert again.device == "cpu:1"


def test_the_net_releases_and_warns(context: Context) -> None:
    before = process_memory().live_handles
    with pytest.warns(ResourceWarning, match="unclosed Tensor"):
        Tensor(context, (4,))
    assert process_memory().live_handles == before


def test_the_net_finds_cycles(context: Context) -> None:
    before = process_memory().live_handles
    ring: list[object] = [Tensor(context, (4,))]
    ring.append(ring)
    del ring
    with pytest.warns(ResourceWarning):
        gc.collect()
    assert process_memory().live_handles == before


def test_a_closed_handle_leaves_nothing_to_the_net(
    context: Context, recwarn: pytest.WarningsRecorder
) -> None:
    Tensor(context, (4,)).close()
    gc.collect()
    assert not [warning for warning in recwarn if warning.category is ResourceWarning]


def test_closing_on_many_threads_releases_once(context: Context) -> None:
    stale = process_memory().stale_calls
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            tensor = Tensor(context, (1,))
            list(pool.map(lambda _, closing=tensor: closing.close(), range(8)))
    assert process_memory().stale_calls == stale


def test_a_gate_lets_go_when_opened() -> None:
    with Gate() as gate, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gate.wait)
        assert not waiting.done()
        gate.open()
        waiting.result(timeout=60)


def test_a_tensor_is_no_context(context: Context) -> None:
    with Tensor(context, (1,)) as tensor, pytest.raises(WrongKind):
        context_device(raw_id(tensor))


def test_every_kind_says_what_it_is(context: Context) -> None:
    with Tape(context) as tape:
        assert repr(tape).startswith("<Tape 0x")
    assert repr(tape).endswith("closed>")
