"""The trainer as a process: protocol, a run, migrating, collector, resume, every probe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import BINDING

DATA = BINDING.parents[1] / "harness" / "hexapla" / "data" / "embedded"
SPEC = BINDING.parents[1] / "harness" / "hexapla" / "spec" / "micro.json"
CONTEXT = {"device": "cpu:0", "threads": 1, "memory_limit": 0, "spill": False, "ledger": None}
ENDS = ("done", "skipped", "error", "bye")

Event = dict[str, Any]


class Process:
    """A trainer that is asked one request after the other."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(BINDING)}
        command = [sys.executable, "-m", "hexapla_core.trainer"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def send(self, line: bytes) -> list[Event]:
        """Send a line; the events up to an end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        events: list[Event] = []
        while not events or events[-1]["event"] not in ENDS:
            events.append(json.loads(self.process.stdout.readline()))
        return events

    def ask(self, request: str, **members: Any) -> list[Event]:
        """Send a request."""
        message = {"protocol": 1, "id": "t", "request": request, **members}
        return self.send(json.dumps(message).encode())

    def bye(self) -> tuple[Event, int]:
        """The `bye` event and the exit status."""
        [event] = self.ask("bye")
        return event, self.finish()

    def finish(self) -> int:
        """Close stdin and wait."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


@pytest.fixture
def trainer() -> Iterator[Process]:
    process = Process()
    yield process
    if process.process.poll() is None:
        process.process.kill()
        process.process.wait()


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A train request without context and output, on the embedded model; four updates of `micro`."""
    adapter_module = pytest.importorskip("hexapla.data.adapter")
    spec = {**json.loads(SPEC.read_text("utf-8")), "updates": 4, "evaluate_every": 2, "save_every": 2}
    adapter = tmp_path_factory.mktemp("data") / "adapter"
    adapter_module.make_initial_adapter(DATA / "model", spec, adapter)
    return {
        "spec": spec,
        "spec_digest": "0" * 64,
        "model": str(DATA / "model"),
        "tokenizer": str(DATA / "tokenizer"),
        "train": str(DATA / "records" / "micro" / "train.jsonl"),
        "heldout": str(DATA / "records" / "micro" / "heldout.jsonl"),
        "adapter": str(adapter),
        "resume_from": None,
        "stop_after": None,
        "schedule": "pinned",
        "release": "explicit",
    }


def figures(events: list[Event]) -> list[Any]:
    """What must not change from run to run: bits and digests, by event and step."""
    keys = ("loss_bits", "gradient_norm_bits", "batch_digest", "adapter_digest", "optimizer_digest")
    return [
        [event["event"], event["step"], *(event.get(key) for key in keys)]
        for event in events
        if event["event"] in ("step", "evaluation", "checkpoint")
    ]


def test_hello_abi_and_bye(trainer: Process) -> None:
    hello, done = trainer.ask("hello")
    assert (hello["implementation"], hello["stack"], done["event"]) == ("python", "core", "done")
    assert "probe.finaliser_race" in hello["capabilities"]
    abi = trainer.ask("abi")[0]
    assert abi["types"]["hxp_error"]["fields"]["message"] == [8, 1016]
    assert abi["types"]["hxp_tensor"] == {"size": 8, "align": 8, "fields": {}}
    assert abi["constants"]["HXP_ABI_VERSION"] == abi["abi_version"]
    bye, status = trainer.bye()
    assert (bye["handles_live"], bye["bytes_live"], status) == (0, 0, 0)


@pytest.mark.parametrize(
    ("line", "request_id", "exit_status"),
    [
        (b"nonsense", "", 2),
        (b'{"protocol":1,"request":"hello"}', "", 2),
        (b'{"protocol":2,"id":"t","request":"hello"}', "t", 1),
        (b'{"protocol":1,"id":"t","request":"hello","more":1}', "t", 1),
        (b'{"protocol":1,"id":"t","request":"load","model":7,"context":{}}', "t", 1),
    ],
)
def test_bad_requests(trainer: Process, line: bytes, request_id: str, exit_status: int) -> None:
    [error] = trainer.send(line)
    assert (error["event"], error["id"], error["status"]) == ("error", request_id, "request")
    assert trainer.ask("hello")[-1]["event"] == "done"
    assert trainer.bye()[1] == exit_status


def test_what_is_unknown_is_skipped(trainer: Process) -> None:
    assert trainer.ask("dance")[-1]["event"] == "skipped"
    probe = {"scenario": "dance", "parameters": {}, "context": CONTEXT}
    assert trainer.ask("probe", **probe)[-1]["event"] == "skipped"
    assert trainer.bye()[1] == 0


def test_every_way_of_running_gives_the_same_bits(
    trainer: Process, train: dict[str, Any], tmp_path: Path
) -> None:
    def run(name: str, context: dict[str, Any] = CONTEXT, **changes: Any) -> list[Event]:
        events = trainer.ask("train", **{**train, "output": str(tmp_path / name), **changes}, context=context)
        assert events[-1]["event"] == "done", events[-1]
        assert events[-1]["handles_live"] == 0
        return events

    plain = run("plain")
    assert [event["event"] for event in plain][:3] == ["data", "evaluation", "step"]
    assert plain[-1]["step"] == 4
    for name, changes in {
        "migrating": {"schedule": "migrating"},
        "collector": {"release": "collector"},
    }.items():
        assert figures(run(name, **changes)) == figures(plain), name
    peak = plain[-1]["device_bytes_peak"]
    limited = {**CONTEXT, "memory_limit": peak + peak // 5}
    assert figures(run("limited", limited, release="collector")) == figures(plain)
    assert run("exact", {**CONTEXT, "memory_limit": peak})[-1]["device_bytes_peak"] == peak
    stopped = run("stopped", stop_after=2)
    assert stopped[-1]["stopped"] is True
    resumed = run("resumed", resume_from=str(tmp_path / "stopped" / "checkpoint-000002"))
    assert figures(stopped) + figures(resumed) == figures(plain)
    bye, status = trainer.bye()
    assert (bye["handles_live"], status) == (0, 0)


def test_a_checkpoint_that_exists_is_refused_before_the_first_update(
    trainer: Process, train: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "checkpoint-000004").mkdir()
    events = trainer.ask("train", **train, output=str(tmp_path), context=CONTEXT)
    assert events[-1]["status"] == "io"
    assert not [event for event in events if event["event"] == "step"]
    bye, status = trainer.bye()
    assert (bye["handles_live"], status) == (0, 1)


def test_closing_stdin_stops_between_updates(trainer: Process, train: dict[str, Any], tmp_path: Path) -> None:
    spec = {**train["spec"], "updates": 10_000}
    message = {"protocol": 1, "id": "t", "request": "train", **train, "spec": spec, "context": CONTEXT}
    assert trainer.process.stdin is not None
    assert trainer.process.stdout is not None
    trainer.process.stdin.write(json.dumps({**message, "output": str(tmp_path)}).encode() + b"\n")
    trainer.process.stdin.flush()
    while json.loads(trainer.process.stdout.readline())["event"] != "step":
        pass
    trainer.process.stdin.close()
    *_, done, bye = [json.loads(line) for line in trainer.process.stdout]
    assert (done["event"], done["stopped"], done["handles_live"]) == ("done", True, 0)
    assert (bye["id"], bye["handles_live"], trainer.finish()) == ("", 0, 0)


PROBES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "device_of_context": (
        {"workers": 4, "rounds": 20, "blocked": 8},
        {"right": 80, "wrong": 0, "errors": 0},
    ),
    "error_text": ({"workers": 4, "calls": 100}, {"own": 400, "foreign": 0, "empty": 0}),
    "drop_in_loop": ({"bytes": 1 << 20, "turns": 40, "close": 0}, {"turns": 40, "failed_turn": 0}),
    "cycles": ({"bytes": 1 << 20, "turns": 40}, {"turns": 40, "failed_turn": 0, "difference_bytes": 0}),
    "accessors": ({"repeats": 3}, {"value": "1 2 3 4", "statuses": "HXP_OK"}),
    "copies": ({"repeats": 3}, {"value": "2 3 4 5", "statuses": "HXP_OK"}),
    "drop_orders": ({"seed": 1, "orders": 120}, {"orders": 120, "failed": 0}),
    "double_release": ({}, {"status": "HXP_STALE_HANDLE"}),
    "use_after_release": ({}, {"status": "HXP_STALE_HANDLE"}),
    "release_elsewhere": ({}, {"status": "HXP_OK"}),
    "close_race": ({"rounds": 100}, {"rounds": 100, "wrong": 0}),
    "finaliser_race": ({"rounds": 50}, {"rounds": 50, "wrong": 0, "statuses": "HXP_OK"}),
    "callback_throws": ({}, {"status": "HXP_OUT_OF_MEMORY", "surfaced": 1, "alive": 1}),
}
TRAINED_PROBES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "two_contexts": ({"updates": 2}, {"equal": 1}),
    "caught_errors": ({"turns": 3}, {"turns": 3, "failed_turn": 0, "difference_bytes": 0}),
    "scope": ({"turns": 2}, {"turns": 2, "failed_turn": 0, "difference_bytes": 0}),
    "fail_allocation": (
        {"nth": 20, "persistent": 0},
        {"fired": 1, "status": "HXP_OUT_OF_MEMORY", "live_difference": 0},
    ),
    "write_fails": ({"limit_bytes": 4096}, {"status": "HXP_IO", "previous_loads": 1}),
}


def test_probes(trainer: Process) -> None:
    limited = {**CONTEXT, "memory_limit": 16 << 20}
    for name, (parameters, wanted) in PROBES.items():
        events = trainer.ask("probe", scenario=name, parameters=parameters, context=limited)
        assert events[-1]["event"] == "done", events[-1]
        seen = events[0]["seen"]
        assert {key: seen[key] for key in wanted} == wanted, name
    bye, status = trainer.bye()
    assert (bye["handles_live"], status) == (0, 0)


def test_probes_that_train(trainer: Process, train: dict[str, Any], tmp_path: Path) -> None:
    for name, (parameters, wanted) in TRAINED_PROBES.items():
        full = {**parameters, "train": {**train, "output": str(tmp_path / name)}}
        events = trainer.ask("probe", scenario=name, parameters=full, context=CONTEXT)
        assert events[-1]["event"] == "done", events[-1]
        assert {key: events[0]["seen"][key] for key in wanted} == wanted, name
    bye, status = trainer.bye()
    assert (bye["handles_live"], status) == (0, 0)


def test_every_status_can_be_provoked(trainer: Process) -> None:
    constants = trainer.ask("abi")[0]["constants"]
    others = ("ABI_", "DTYPE_", "LEDGER_", "OPERATION_", "RANK_", "THREADS_", "SPILL")
    names = [name for name in constants if not name.removeprefix("HXP_").startswith(others)]
    assert len(names) == 14
    for name in names:
        events = trainer.ask("probe", scenario="status", parameters={"status": name}, context=CONTEXT)
        assert events[0]["seen"]["status"] == name, events
        assert bool(events[0]["seen"]["message"]) == (name != "HXP_OK")
    bye, status = trainer.bye()
    assert (bye["handles_live"], status) == (0, 0)
