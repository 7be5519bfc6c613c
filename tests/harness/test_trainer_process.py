"""A trainer's pipes, its silence, its stacks and what it leaves on the device (cases J1 and J2)."""

from __future__ import annotations

import json
import mmap
import os
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from fake_device import FakeDeviceGauge
from fake_types import MakeTrainer
from hexapla.process import DeviceWatch, TrainerFailure
from hexapla.process.device import SLACK_BYTES, CoreGauge
from hexapla.protocol import Done, Reason, Record, Skipped

RENDER = {"tokenizer": "/nowhere", "records": "/nowhere", "template": "qwen3", "length": 8}


def greet_and_render(trainer: Any) -> Any:
    trainer.hello()
    return trainer.ask("render", "render", **RENDER)


def test_good_is_understood(trainer: MakeTrainer) -> None:
    running = trainer("good")
    answer = greet_and_render(running)
    assert [type(event) for event in answer.events] == [Record, Record]
    assert isinstance(answer.end, Done)
    assert isinstance(running.ask("abi", "abi").end, Skipped)
    running.close()
    assert running.failure is None


def test_events_are_kept_as_they_came(trainer: MakeTrainer, tmp_path: Path) -> None:
    """A failed request leaves what was said until then, the wrong line included."""
    with pytest.raises(TrainerFailure):
        greet_and_render(trainer("not_json"))
    assert (tmp_path / "events/not_json/render.jsonl").read_bytes() == b"Rendering: 50%|#####\n"


def test_work_is_not_silence(trainer: MakeTrainer) -> None:
    """Three seconds of CPU time with a limit of one second of silence."""
    running = trainer("busy", silence_s=1.0)
    greet_and_render(running)
    running.close()
    assert running.failure is None


def test_full_pipes(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Case J1: 1 MiB on stderr before the first line, then 5,000 lines of 2 KiB; not a byte is lost."""
    running = trainer("full_pipes")
    answer = greet_and_render(running)
    running.close()
    assert (tmp_path / "stderr/full_pipes.log").read_bytes() == b"e" * (1 << 20)
    lines = (tmp_path / "events/full_pipes/render.jsonl").read_bytes().splitlines(keepends=True)
    assert [len(line) for line in lines[:-1]] == [2048] * 5000
    assert [json.loads(line)["record"] for line in lines[:-1]] == [f"{number:05d}" for number in range(5000)]
    assert len(answer.events) == 5000


def test_a_line_that_takes_its_time(trainer: MakeTrainer) -> None:
    """Case J1: 300 KiB whose newline comes later is one event."""
    running = trainer("long_line")
    assert len(greet_and_render(running).events[0].rejected) == 300 << 10
    running.close()


def test_last_words_without_a_newline(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Case J1: 300 KiB without a newline, then the exit; received bytes equal written bytes."""
    running = trainer("no_newline")
    with pytest.raises(TrainerFailure) as caught:
        greet_and_render(running)
    assert caught.value.reason is Reason.NOT_JSON
    assert (tmp_path / "events/no_newline/render.jsonl").read_bytes() == b"x" * (300 << 10)
    assert running._child.returncode == 5


def test_closed_stdout_gets_its_time(trainer: MakeTrainer) -> None:
    """Case J1: stdout closed and two seconds more; the exit status is the trainer's own."""
    started = time.monotonic()
    running = trainer("closed_stdout")
    with pytest.raises(TrainerFailure, match="exit status 7"):
        greet_and_render(running)
    assert 2 < time.monotonic() - started < 7
    assert running._child.returncode == 7


def test_stacks_of_a_hanging_python(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Before the kill the runtime says where it hung, and the reason says where that is written."""
    with pytest.raises(TrainerFailure, match=r"its stacks are in stderr/hang\.log"):
        greet_and_render(trainer("hang", silence_s=1.0))
    assert "wait_for_ever" in (tmp_path / "stderr/hang.log").read_text("utf-8")


def test_device_back_at_its_level(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Case J2: marked, the holder named, nothing started until it has ended; then the level is back."""
    gauge = FakeDeviceGauge(tmp_path / "device")
    watch = DeviceWatch(gauge)
    running = trainer("device_child", device=watch)
    greet_and_render(running)
    with pytest.raises(TrainerFailure) as caught:
        running.close()
    [holder] = gauge.holders() or {}
    assert caught.value.reason is Reason.DEVICE_NOT_RELEASED
    assert "held by python" in caught.value.detail and f"({holder}) 256 MiB" in caught.value.detail
    with pytest.raises(TrainerFailure, match=f"not started: .*{holder}"):
        trainer("good", device=watch, silence_s=0.5)
    os.kill(holder, 9)
    following = trainer("good", device=watch)
    greet_and_render(following)
    following.close()
    assert gauge.used_bytes() <= SLACK_BYTES


def test_a_device_that_hides_its_holders(trainer: MakeTrainer, tmp_path: Path) -> None:
    """Case J3: per-process memory is said to be not available, and the total still finds what is held."""
    watch = DeviceWatch(FakeDeviceGauge(tmp_path / "device", names_holders=False))
    running = trainer("device_child", device=watch)
    running.hello()
    with pytest.raises(TrainerFailure, match=r"256 MiB above .* per-process memory is not available"):
        running.close()


def test_core_counters_of_a_living_process(tmp_path: Path) -> None:
    """A ledger counts while a process maps it, and no longer."""
    path = tmp_path / "c" / "train.bin"
    path.parent.mkdir()
    header = struct.pack("<4sIIIQqqqq", b"HXPL", 1, 64, 1 << 20, 0, 64 << 20, 0, 0, 1)
    path.write_bytes(header.ljust(4096, b"\0"))
    gauge = CoreGauge(tmp_path)
    assert gauge.used_bytes() == 0
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        assert gauge.holders() == {os.getpid(): 64 << 20}
    assert gauge.holders() == {}
