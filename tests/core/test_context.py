"""Contexts: devices, options, who may call, injected failures, threads (CASES A1, A2)."""

from __future__ import annotations

import ctypes
import platform
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from core_calls import Core, CoreError


def in_thread(work: Any) -> Any:
    """Run work on a thread of its own; its result, or what it raised."""
    box: list[Any] = []

    def run() -> None:
        try:
            box.append(work())
        except BaseException as failure:
            box.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return box[0]


def device(core: Core, name: str, handle: int) -> str:
    out = core.ffi.new("char[32]")
    core.call(name, handle, out, 32)
    return core.ffi.string(out).decode()


@pytest.mark.parametrize(
    "name", ["", "cpu", "cpu:", "cpu:-1", "cpu:+1", "cpu:1 ", "cpu:99999999999", "gpu:0", "CPU:0", "cpu:1\n"]
)
def test_names_that_are_no_device(core: Core, name: str) -> None:
    with pytest.raises(CoreError, match=r"HXP_INVALID_ARGUMENT: device .* is not cpu:N or cuda:N") as caught:
        core.context(name)
    assert "\n" not in caught.value.text


def test_a_device_that_is_not_there(core: Core) -> None:
    with pytest.raises(CoreError, match="HXP_DEVICE: no device cuda:0"):
        core.context("cuda:0")


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("threads", 0, "threads 0"),
        ("threads", 257, "threads 257"),
        ("flags", 4, "flags 4"),
        ("struct_size", 0, "struct_size 0"),
        ("memory_limit", 2**63, "memory_limit 9223372036854775808"),
    ],
)
def test_options_are_checked(core: Core, option: str, value: int, text: str) -> None:
    with pytest.raises(CoreError, match=f"HXP_INVALID_ARGUMENT: .*{text}"):
        core.context(**{option: value})


def test_text_that_does_not_fit_is_refused_with_its_need(core: Core, context: int) -> None:
    out = core.ffi.new("char[5]", b"kept")
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: out holds 5 bytes, the text needs 6"):
        core.call("context_device", context, out, 5)
    assert core.ffi.string(out) == b"kept"


def test_threads_owner(core: Core) -> None:
    context = core.context(flags=core.lib.HXP_THREADS_OWNER)
    tensor = core.empty(context, 4)
    refused = [
        lambda: core.empty(context, 4),
        lambda: core.read(tensor),
        lambda: core.make("tensor_retain", tensor),
        lambda: core.call("context_mark", context, 1),
    ]
    for call in refused:
        answer = in_thread(call)
        assert isinstance(answer, CoreError)
        assert answer.status == "HXP_WRONG_THREAD"
        assert str(threading.get_native_id()) in answer.text
    assert in_thread(lambda: core.memory(context)).live_bytes == 16
    assert in_thread(lambda: core.release("tensor", tensor)) is None
    assert core.memory(context).live_bytes == 0
    # The read ended at its first query; queries are not counted, the release is.
    assert core.memory(context).foreign_calls == 4
    assert in_thread(lambda: core.release("context", context)) is None


def test_fail_next_answers_once_and_does_nothing_else(core: Core, context: int) -> None:
    for status in range(1, 14):
        name = core.ffi.string(core.lib.hxp_status_name(status)).decode()
        core.call("context_fail_next", context, status)
        tensor = None
        core.memory(context)  # a query does not use it up
        with pytest.raises(CoreError) as caught:
            tensor = core.empty(context, 4)
        assert (caught.value.status, caught.value.text) == (name, f"injected {name}")
        assert tensor is None
        assert core.memory(context).live_bytes == 0
    assert core.memory(context).injected_failures == 13
    core.release("tensor", core.empty(context, 4))


@pytest.mark.parametrize("status", [0, -1, 14, 1000])
def test_fail_next_wants_a_failure(core: Core, context: int, status: int) -> None:
    with pytest.raises(CoreError, match=f"HXP_INVALID_ARGUMENT: status {status}"):
        core.call("context_fail_next", context, status)


def test_the_error_struct_may_be_missing_or_without_its_size(core: Core) -> None:
    assert core.lib.hxp_tensor_release(12345, core.ffi.NULL) == core.lib.HXP_STALE_HANDLE
    error = core.ffi.new("hxp_error *")
    assert core.lib.hxp_tensor_release(12345, error) == core.lib.HXP_STALE_HANDLE
    assert bytes(core.ffi.buffer(error)) == bytes(1024)


def test_device_chosen_on_one_thread_used_on_another(core: Core) -> None:
    """A1 with Python threads: 8 workers, 200 rounds, 32 callers that sit in a gate."""
    before = core.memory().live_handles
    gate = core.make("gate_create")
    sitters = [threading.Thread(target=core.call, args=("gate_wait", gate)) for _ in range(32)]
    for sitter in sitters:
        sitter.start()
    right: list[int] = []
    wrong: list[Any] = []

    def work(worker: int) -> None:
        name = f"cpu:{worker % 2}"
        for _ in range(200):
            try:
                context = core.context(name)
                time.sleep(0)
                tensor = core.empty(context, 16)
                time.sleep(0)
                (right if device(core, "tensor_device", tensor) == name else wrong).append(worker)
                core.release("tensor", tensor)
                core.release("context", context)
            except CoreError as error:
                wrong.append(error)

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    core.call("gate_open", gate)
    for sitter in sitters:
        sitter.join()
    core.release("gate", gate)
    assert (len(right), wrong) == (1600, [])
    assert core.memory().live_handles == before


def test_error_text_belongs_to_the_failing_call(core: Core, context: int) -> None:
    """A2: 8 workers, 1,000 calls each on one context; every text holds its own number."""
    foreign: list[str] = []

    def work(worker: int) -> None:
        for call in range(1000):
            number = -(1000 * worker + call + 1)
            try:
                core.empty(context, number)
            except CoreError as error:
                if str(number) not in error.text.split():
                    foreign.append(error.text)
            else:
                foreign.append("no error")

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert foreign == []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of FE_UPWARD is x86-64's")
def test_the_callers_rounding_mode_does_not_come_along(core: Core) -> None:
    """A caller that rounds upward, and workers made by its call: 1 + 2^-30 must still round to 1."""
    upward = 0x800
    libm = ctypes.CDLL("libm.so.6")

    def work() -> float:
        context = core.context()
        tensor = core.tensor(context, [1.0])
        assert libm.fesetround(upward) == 0
        core.call("tensor_add_in_place", tensor, 2.0**-30)
        libm.fesetround(0)
        value = float(core.read(tensor)[0])
        core.release("tensor", tensor)
        core.release("context", context)
        return value

    assert in_thread(work) == 1.0


def test_threads_follow_contexts_not_callers(core: Core) -> None:
    """Ten callers of one context of two workers make two threads, and they end with the context."""

    def threads() -> int:
        return int(core.memory().threads)

    before = threads()
    context = core.context(threads=2)
    tensor = core.empty(context, 4)
    assert threads() == before  # nothing computed yet
    core.call("tensor_add_in_place", tensor, 0.0)
    tasks = len(list(Path("/proc/self/task").iterdir()))
    for _ in range(10):
        in_thread(lambda: core.call("tensor_add_in_place", tensor, 1.0))
    # One more at most: the kernel may still list a caller that has just ended.
    assert len(list(Path("/proc/self/task").iterdir())) <= tasks + 1
    assert threads() == before + 2
    assert core.read(tensor).tolist() == [10.0] * 4
    core.release("tensor", tensor)
    core.release("context", context)
    assert threads() == before
