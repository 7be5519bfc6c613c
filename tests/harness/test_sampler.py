"""The sampler sees what a process does, says who told it, keeps to its share, and takes nothing for 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_device import FakeDeviceGauge
from hexapla.process import waiting
from hexapla.process.device_memory import (
    NOT_AVAILABLE,
    CoreCounters,
    Driver,
    Gauged,
    read_device,
    sources_of,
)
from hexapla.process.sampler import Sampler
from hexapla.process.tasks import look
from hexapla.process.waiting import waited_ms
from hexapla.protocol import Step
from hexapla.protocol.ledger import read_since
from synthetic_ledger import Entry, write_ledger
from test_level_checkpoint import events

_MIB = 1 << 20
# A process with three threads, an open file and a child, that works until it is ended.
_BUSY = """
import subprocess, sys, threading, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
def spin():
    while True:
        sum(range(1000))
        time.sleep(0.001)
for _ in range(2):
    threading.Thread(target=spin, daemon=True).start()
held = open("/dev/null")
print("ready", flush=True)
sys.stdin.read()
child.kill()
child.wait()
"""


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", _BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    yield child
    assert child.stdin is not None
    child.stdin.close()
    child.wait(10)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for(path: Path, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 20
    while len(lines_of(path)) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(lines_of(path)) >= count
    return lines_of(path)


def test_look_sees_threads_children_and_descriptors(busy: subprocess.Popen[bytes]) -> None:
    state = look(busy.pid)
    assert state is not None
    assert len(state.threads) == 3
    assert len(state.children) == 1
    assert state.descriptors is not None and state.descriptors >= 4
    assert state.rss_bytes is not None and state.rss_bytes > _MIB
    for task in state.threads.values():
        assert task.core in os.sched_getaffinity(0)
        assert task.affinity


def test_look_at_nobody() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert look(child.pid) is None


def test_samples_and_a_change_of_affinity(tmp_path: Path, busy: subprocess.Popen[bytes]) -> None:
    sampler = Sampler(tmp_path, share=1.0)
    sampler.watch("busy", busy.pid)
    wait_for(tmp_path / "busy.jsonl", 1)
    cores = os.sched_getaffinity(busy.pid)
    if len(cores) < 2:
        pytest.skip("one core only: no mask to change")
    os.sched_setaffinity(busy.pid, {min(cores)})
    seen = len(lines_of(tmp_path / "busy.jsonl"))
    wait_for(tmp_path / "busy.jsonl", seen + 2)
    sampler.forget(busy.pid)
    *samples, last = lines_of(tmp_path / "busy.jsonl")
    changes = [change for sample in samples for change in sample["affinity_changes"]]
    assert [(change["thread"], change["is"]) for change in changes] == [(busy.pid, str(min(cores)))]
    summary = last["summary"]
    assert summary["affinity_changes"] == 1
    assert summary["threads_seen"] == 3
    assert summary["children_peak"] == 1
    assert summary["switches_voluntary"] > 0
    assert summary["device_bytes_peak"] is None and summary["device_source"] == NOT_AVAILABLE


def test_calls_are_counted_by_context_and_thread_once(tmp_path: Path, busy: subprocess.Popen[bytes]) -> None:
    sampler = Sampler(tmp_path, share=1.0)
    sampler.watch("busy", busy.pid)
    entries = [Entry("add", context=1, thread=11)] * 3 + [Entry("add", context=2, thread=12)]
    ledger = write_ledger(tmp_path / "one.bin", entries, left_bytes=5 * _MIB)
    sampler.ledger(busy.pid, ledger)
    wait_for(tmp_path / "busy.jsonl", 3)
    write_ledger(ledger, [*entries, Entry("add", context=2, thread=12)], left_bytes=5 * _MIB)
    sampler.ledger(busy.pid, None)
    sampler.forget(busy.pid)
    summary = lines_of(tmp_path / "busy.jsonl")[-1]["summary"]
    assert summary["calls"] == {"1": {"11": 3}, "2": {"12": 2}}
    assert summary["calls_missed"] == 0
    assert (summary["device_bytes_peak"], summary["device_source"]) == (5 * _MIB, "core's counters")


@pytest.mark.parametrize("share", [0.01])
def test_it_costs_at_most_its_share(tmp_path: Path, busy: subprocess.Popen[bytes], share: float) -> None:
    sampler = Sampler(tmp_path, share=share)
    started = time.monotonic()
    sampler.watch("busy", busy.pid)
    while time.monotonic() - started < 4:
        time.sleep(0.1)
    sampler.forget(busy.pid)
    summary = lines_of(tmp_path / "busy.jsonl")[-1]["summary"]
    assert summary["samples"] >= 2, "a sampler that does not look costs nothing"
    assert 0 < sampler.cpu_seconds <= share * (time.monotonic() - started)
    assert summary["sampler_cpu_share"] <= share


def test_dear_looks_come_seldom(tmp_path: Path, busy: subprocess.Popen[bytes]) -> None:
    """The same processes under a tenth of the share are looked at less often."""
    counts = {}
    for share in (1.0, 0.0005):
        sampler = Sampler(tmp_path / str(share), share=share)
        sampler.watch("busy", busy.pid)
        time.sleep(1.5)
        sampler.forget(busy.pid)
        counts[share] = lines_of(tmp_path / str(share) / "busy.jsonl")[-1]["summary"]["samples"]
    assert counts[0.0005] < counts[1.0]


def test_read_since_stops_before_a_torn_record_and_counts_what_was_overwritten(tmp_path: Path) -> None:
    entries = [Entry("add", live=number) for number in range(5)]
    torn = write_ledger(tmp_path / "torn.bin", [*entries, Entry("add", sequence=0), Entry("add")])
    records, seen = read_since(torn, 2)
    assert [int(each) for each in records["sequence"]] == [3, 4, 5]
    assert seen == 5
    wrapped = write_ledger(tmp_path / "wrapped.bin", entries * 3, capacity=4)
    records, seen = read_since(wrapped, 2)
    assert [int(each) for each in records["sequence"]] == [12, 13, 14, 15]
    assert seen == 15
    assert read_since(tmp_path / "absent.bin", 3)[1] == 3


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A fake device's folder of this test's own: its holder is this process, which nobody may end."""
    folder = tmp_path / "own-device"
    folder.mkdir()
    return folder


def hold(folder: Path, held_bytes: int) -> None:
    """This process holds so much of the fake device."""
    (folder / str(os.getpid())).write_text(str(held_bytes))


def test_core_speaks_first_then_the_driver_then_the_library(tmp_path: Path, device: Path) -> None:
    hold(device, 30 * _MIB)
    library = Gauged("NVML", FakeDeviceGauge(device))
    info = tmp_path / "proc" / str(os.getpid()) / "fdinfo"
    info.mkdir(parents=True)
    for number, client in enumerate(("1", "1", "2")):
        (info / str(number)).write_text(f"pos:\t0\ndrm-client-id:\t{client}\ndrm-resident-vram:\t8192 KiB\n")
    (info / "9").write_text("pos:\t0\n")
    driver = Driver(tmp_path / "proc")
    ledger = write_ledger(tmp_path / "one.bin", [Entry("add")], left_bytes=10 * _MIB)
    sources = (CoreCounters(), driver, library)
    pid = os.getpid()
    assert read_device(pid, ledger, sources).words == "it holds 10 MiB by core's counters"
    assert read_device(pid, None, sources).words == "it holds 16 MiB by the driver"
    assert (
        read_device(pid, None, (CoreCounters(), Driver(tmp_path), library)).words == "it holds 30 MiB by NVML"
    )


def test_hidden_process_ids_give_the_total_and_never_zero(device: Path) -> None:
    """Case J3: the library returns no ids; the planted leak of 64 MiB is in the total all the same."""
    hidden = Gauged("NVML", FakeDeviceGauge(device, names_holders=False))
    before = read_device(os.getpid(), None, (CoreCounters(), hidden))
    hold(device, 64 * _MIB)
    after = read_device(os.getpid(), None, (CoreCounters(), hidden))
    assert after.whole_device
    assert after.words == "per-process memory is not available; the whole device holds 64 MiB by NVML"
    assert before.bytes is not None and after.bytes is not None and after.bytes - before.bytes == 64 * _MIB


def test_unknown_process_ids_give_the_total(device: Path) -> None:
    """Case J3: ids unknown here are no word about this process."""
    (device / str(os.getppid())).write_text(str(64 * _MIB))
    reading = read_device(os.getpid(), None, (CoreCounters(), Gauged("NVML", FakeDeviceGauge(device))))
    assert reading.whole_device and reading.bytes == 64 * _MIB


def test_nobody_knows() -> None:
    reading = read_device(os.getpid(), None, sources_of("cpu:0", FakeDeviceGauge(Path("/nowhere"))))
    assert reading.bytes is None
    assert reading.figure == NOT_AVAILABLE
    assert "0" not in reading.words


def test_waiting_for_a_core_is_known_or_none(busy: subprocess.Popen[bytes]) -> None:
    before = waited_ms(busy.pid)
    if before is None:
        pytest.skip("this kernel keeps no account of the run queue")
    time.sleep(0.2)
    after = waited_ms(busy.pid)
    assert after is not None and after >= before
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert waited_ms(gone.pid) is None


def test_waiting_is_known_for_every_step_or_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[float | None] = [10.0, 12.0, 11.0, None, 20.0]
    monkeypatch.setattr(waiting, "waited_ms", lambda _pid: known.pop(0))
    heard = waiting.Waiting(1)
    steps = [event for event in events(1, 4) if isinstance(event, Step)]
    for step in steps[:2]:
        heard.hear(step)
    assert heard.milliseconds == (2.0, 0.0)  # a thread that ended took its account with it
    for step in steps[2:]:
        heard.hear(step)
    assert heard.milliseconds is None
