"""The ledger as others read it: from outside, live, and after a crash."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from core_calls import Core, CoreError

HEADER = struct.Struct("<4sIIIQqqqq")
RECORD = struct.Struct("<QQqqQQIHHQ")
CAPACITY = 1 << 20
FIELDS = (
    "time_ns",
    "handle",
    "bytes",
    "live",
    "update",
    "context",
    "thread",
    "operation",
    "status",
    "sequence",
)


def header(path: Path) -> dict[str, Any]:
    names = ("magic", "version", "record_bytes", "capacity", "written", "live", "peak", "limit", "handles")
    with path.open("rb") as file:
        return dict(zip(names, HEADER.unpack(file.read(HEADER.size)), strict=True))


def records(path: Path) -> list[dict[str, Any]]:
    """All whole records, in order; a torn one ends the test."""
    count = header(path)["written"]
    with path.open("rb") as file:
        file.seek(4096)
        raw = file.read(64 * min(count, CAPACITY))
    out = [dict(zip(FIELDS, fields, strict=True)) for fields in RECORD.iter_unpack(raw)]
    out.sort(key=lambda record: record["sequence"])
    assert [record["sequence"] for record in out] == list(range(max(count - CAPACITY, 0) + 1, count + 1))
    return out


def calls(core: Core, found: list[dict[str, Any]]) -> list[str]:
    return [core.ffi.string(core.lib.hxp_operation_name(record["operation"])).decode() for record in found]


def test_every_call_leaves_a_record(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "ledger.bin"
    context = core.context(ledger_path=path, memory_limit=4096)
    core.call("context_mark", context, 7)
    tensor = core.tensor(context, [1, 2, 3])
    again = core.make("tensor_retain", tensor)
    core.call("tensor_add_in_place", tensor, 1.0)
    with pytest.raises(CoreError, match="HXP_OUT_OF_MEMORY"):
        core.empty(context, 4096)
    core.release("tensor", tensor, again)
    live = header(path)
    core.release("context", context)
    found = records(path)
    assert calls(core, found) == [
        "context_create", "context_mark", "tensor_create", "tensor_write", "tensor_retain",
        "tensor_add_in_place", "tensor_create", "tensor_release", "tensor_release", "context_release",
    ]  # fmt: skip
    assert [record["bytes"] for record in found] == [0, 0, 12, 0, 0, 0, 0, 0, -12, 0]
    assert [record["live"] for record in found] == [0, 0, 12, 12, 12, 12, 12, 12, 0, 0]
    assert [record["status"] for record in found] == [0, 0, 0, 0, 0, 0, 2, 0, 0, 0]
    assert [record["update"] for record in found] == [0] + [7] * 9
    assert [record["handle"] for record in found] == [
        context, context, tensor, tensor, again, tensor, context, tensor, again, context,
    ]  # fmt: skip
    assert {record["thread"] for record in found} == {threading.get_native_id()}
    assert len({record["context"] for record in found}) == 1
    assert [record["time_ns"] for record in found] == sorted(record["time_ns"] for record in found)
    assert [live[name] for name in ("magic", "version", "record_bytes", "capacity")] == [
        b"HXPL",
        1,
        64,
        CAPACITY,
    ]
    assert (live["written"], live["limit"]) == (9, 4096)


def test_a_stale_call_is_recorded_where_its_id_lived(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "ledger.bin"
    other = core.context("cpu:1", ledger_path=tmp_path / "other.bin")
    context = core.context(ledger_path=path)
    tensor, released = core.tensor(context, [1, 2]), core.tensor(context, [3, 4])
    core.release("tensor", released)
    core.call("context_mark", context, 5)
    before = len(records(path))
    stale = [
        lambda: core.release("tensor", released),
        lambda: core.call("tensor_add_in_place", released, 1.0),
        lambda: core.make("tensor_retain", released),
        lambda: core.make("add", tensor, released, 0),
        lambda: core.release("tensor", 0x200FFFFFFFFFFFF),  # never given out: nobody's
    ]
    for call in stale:
        with pytest.raises(CoreError, match="HXP_STALE_HANDLE"):
            call()
    found = records(path)[before:]
    assert calls(core, found) == ["tensor_release", "tensor_add_in_place", "tensor_retain", "add"]
    assert {record["status"] for record in found} == {core.lib.HXP_STALE_HANDLE}
    assert {record["handle"] for record in found} == {released}
    assert {(record["update"], record["bytes"], record["thread"]) for record in found} == {
        (5, 0, threading.get_native_id())
    }
    core.release("tensor", tensor)
    core.release("context", context, other)
    with pytest.raises(CoreError, match="HXP_STALE_HANDLE"):
        core.release("tensor", released)  # its context is gone, and so is whoever could record it
    assert len(records(path)) == before + 6
    assert calls(core, records(tmp_path / "other.bin")) == ["context_create", "context_release"]


def test_the_calling_thread_is_asked_in_every_call(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "ledger.bin"
    context = core.context(ledger_path=path)
    threads = []
    for update in range(4):
        thread = threading.Thread(target=core.call, args=("context_mark", context, update))
        thread.start()
        threads.append(thread.native_id)
        thread.join()
    core.release("context", context)
    assert [record["thread"] for record in records(path)][1:-1] == threads


def test_contexts_of_one_process_share_a_file(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "ledger.bin"
    contexts = [core.context(ledger_path=path), core.context("cpu:1", ledger_path=path)]
    for context in contexts:
        core.release("tensor", core.empty(context, 1))
    core.release("context", *contexts)
    later = core.context(ledger_path=tmp_path / "." / "ledger.bin")  # goes on, though nobody had it open
    core.release("context", later)
    found = records(path)
    assert calls(core, found).count("context_create") == 3
    assert len({record["context"] for record in found}) == 3


def test_a_new_process_begins_the_file_again(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "ledger.bin"
    path.write_bytes(b"something else, longer than a header" * 1000)
    context = core.context(ledger_path=path)
    core.release("context", context)
    assert calls(core, records(path)) == ["context_create", "context_release"]


@pytest.mark.parametrize("path", ["/nonexistent/ledger.bin", "/"])
def test_a_path_that_cannot_be_written(core: Core, path: str) -> None:
    with pytest.raises(CoreError, match=f"HXP_IO: {path}: "):
        core.context(ledger_path=path)


def test_records_of_many_threads_are_whole(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "ledger.bin"
    context = core.context(ledger_path=path)
    tensor = core.empty(context, 1)

    def work() -> None:
        for _ in range(2000):
            core.release("tensor", core.make("tensor_retain", tensor))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    core.release("tensor", tensor)
    core.release("context", context)
    found = records(path)
    assert len(found) == 16004
    names = calls(core, found)
    assert names.count("tensor_retain") + 1 == names.count("tensor_release") == 8001


KILLED = """
import os, signal, sys
from core_calls import Core
core = Core()
context = core.context(ledger_path=sys.argv[1])
core.call("context_mark", context, 41)
tensor = core.empty(context, 1024)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_still_shows_its_last_calls(core: Core, tmp_path: Path) -> None:
    path = tmp_path / "ledger.bin"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    last = records(path)[-1]
    assert calls(core, [last]) == ["tensor_create"]
    assert (last["update"], last["bytes"], last["live"]) == (41, 4096, 4096)
    assert (header(path)["live"], header(path)["handles"]) == (4096, 2)
