"""Handles: never reused, tagged by kind, one id an owner, any order of release (CASES C1, C2)."""

from __future__ import annotations

import itertools
import random
import threading

import pytest
from core_calls import Core, CoreError


def test_release_of_zero_does_nothing(core: Core) -> None:
    for kind in ("context", "tensor", "tape", "gate", "checkpoint", "tokenizer"):
        core.call(f"{kind}_release", 0)


def test_zero_is_no_handle_anywhere_else(core: Core) -> None:
    with pytest.raises(CoreError, match="HXP_STALE_HANDLE: tensor handle 0x0 was never given out"):
        core.info(0)


def test_use_after_release_and_double_release_are_stale(core: Core, context: int) -> None:
    tensor = core.empty(context, 2)
    core.release("tensor", tensor)
    stale = core.memory().stale_calls
    text = f"HXP_STALE_HANDLE: tensor handle {tensor:#x} was released already"
    for call in (
        lambda: core.release("tensor", tensor),
        lambda: core.info(tensor),
        lambda: core.make("tensor_retain", tensor),
    ):
        with pytest.raises(CoreError, match=text):
            call()
    assert core.memory().stale_calls == stale + 3


def test_an_id_that_was_never_given_out_says_so(core: Core, context: int) -> None:
    tensor = core.empty(context, 1)
    with pytest.raises(CoreError, match="was never given out"):
        core.info(tensor + 1_000_000)
    core.release("tensor", tensor)


def test_wrong_kind(core: Core, context: int) -> None:
    tensor = core.empty(context, 2)
    with pytest.raises(CoreError, match=f"HXP_WRONG_KIND: {tensor:#x} is a tensor handle, not a gate handle"):
        core.release("gate", tensor)
    with pytest.raises(CoreError, match="HXP_WRONG_KIND"):
        core.info(context)
    core.release("tensor", tensor)


def test_a_second_release_never_frees_another_tensor(core: Core, context: int) -> None:
    """The quiet fault of address handles (200 of 200): here 200 stale answers and no tensor lost."""
    for _ in range(200):
        first = core.empty(context, 1024)
        core.release("tensor", first)
        other = core.tensor(context, [7.0] * 1024)
        with pytest.raises(CoreError, match="HXP_STALE_HANDLE"):
            core.release("tensor", first)
        assert core.read(other)[1023] == 7.0
        core.release("tensor", other)


def test_retain_hands_out_a_new_id_for_the_same_tensor(core: Core, context: int) -> None:
    """C2: copies share the storage; each owner releases its own id."""
    a = core.tensor(context, [1, 2, 3, 4])
    c = core.make("tensor_retain", a)
    b = core.make("tensor_retain", a)
    assert len({a, b, c}) == 3
    core.release("tensor", a)
    assert core.read(b).sum() == 10
    core.call("tensor_add_in_place", b, 1.0)
    assert core.read(c).tolist() == [2, 3, 4, 5]
    with pytest.raises(CoreError, match="HXP_STALE_HANDLE"):
        core.read(a)
    core.release("tensor", b, c)


def test_accessors_hand_out_shares(core: Core) -> None:
    """C1 with the context as parent: what an accessor gave is released apart, three times over."""
    for _ in range(3):
        parent = core.context()
        tensor = core.tensor(parent, [1, 2, 3, 4])
        first, second = core.make("tensor_context", tensor), core.make("tensor_context", tensor)
        core.release("context", first, second)
        assert core.read(tensor).tolist() == [1, 2, 3, 4]
        core.release("context", parent)
        assert core.read(tensor).tolist() == [1, 2, 3, 4]
        core.release("tensor", tensor)
    assert core.memory().live_bytes == 0


def test_children_outlive_parents_in_every_order(core: Core) -> None:
    before = core.memory().live_handles
    for order in itertools.permutations(range(5)):
        context = core.context()
        tensor = core.tensor(context, [1.0])
        handles = [
            ("context", context),
            ("tensor", tensor),
            ("tensor", core.make("tensor_retain", tensor)),
            ("context", core.make("tensor_context", tensor)),
            ("context", core.make("context_retain", context)),
        ]
        for index in order:
            core.release(*handles[index])
        after = core.memory()
        assert (after.live_handles, after.live_bytes) == (before, 0)


def test_retain_and_release_race_without_harm(core: Core, context: int) -> None:
    """Sixteen thousand ids on four threads: each is released once, none is lost, no answer is wrong."""
    tensor = core.tensor(context, [5.0])
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        generator = random.Random(seed)
        mine: list[int] = []
        try:
            for _ in range(4000):
                if mine and generator.random() < 0.5:
                    core.release("tensor", mine.pop(generator.randrange(len(mine))))
                else:
                    mine.append(core.make("tensor_retain", tensor))
            core.release("tensor", *mine)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert core.memory(context).live_handles == 2
    core.release("tensor", tensor)


def test_two_threads_release_one_id_and_exactly_one_succeeds(core: Core, context: int) -> None:

    def close(tensor: int, start: threading.Barrier, answers: list[str]) -> None:
        start.wait()
        try:
            core.release("tensor", tensor)
            answers.append("HXP_OK")
        except CoreError as error:
            answers.append(error.status)

    for _ in range(300):
        tensor = core.empty(context, 16)
        answers: list[str] = []
        start = threading.Barrier(2)

        threads = [threading.Thread(target=close, args=(tensor, start, answers)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == ["HXP_OK", "HXP_STALE_HANDLE"]
