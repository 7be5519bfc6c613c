"""The torch trainer's pipes: hello, refusals, strict lines, exit statuses, and what it skips."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch_process import CONTEXT, Trainer, Workplace

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("peft", reason="peft is not installed")


@pytest.fixture(scope="module")
def trainer() -> Iterator[Trainer]:
    running = Trainer()
    yield running
    running.close()


def test_hello_says_who_speaks(trainer: Trainer) -> None:
    hello, done = trainer.ask("hello")
    assert (hello["event"], hello["protocol"], hello["stack"], hello["core"]) == ("hello", 1, "torch", None)
    assert set(hello) == {"id", "event", "protocol", "implementation", "language", "runtime", "stack"} | {
        "core",
        "faults",
        "capabilities",
    }
    assert set(done) == {"id", "event"}


@pytest.mark.parametrize(
    ("request_name", "values"),
    [("abi", {}), ("probe", {"scenario": "status", "parameters": {}}), ("unheard_of", {})],
)
def test_what_it_cannot_do_is_skipped(trainer: Trainer, request_name: str, values: dict[str, object]) -> None:
    (event,) = trainer.ask(request_name, **values)
    assert event["event"] == "skipped"
    assert event["reason"]


@pytest.mark.parametrize("changes", [{"schedule": "migrating"}, {"release": "collector"}])
def test_core_schedules_are_skipped(tmp_path: Path, trainer: Trainer, changes: dict[str, str]) -> None:
    (event,) = trainer.ask("train", **Workplace(tmp_path).request("out", **changes))
    assert event["event"] == "skipped"


@pytest.mark.parametrize(
    "changes", [{"device": "cuda:0"}, {"memory_limit": 1}, {"spill": True}, {"ledger": "/nowhere"}]
)
def test_contexts_without_a_core_are_skipped(trainer: Trainer, changes: dict[str, object]) -> None:
    (event,) = trainer.ask("load", context={**CONTEXT, **changes}, model="/nowhere")
    assert event["event"] == "skipped"


UNREADABLE = {
    "not utf-8": b'{"protocol":1,"id":"\xff","request":"hello"}',
    "byte-order mark": b'\xef\xbb\xbf{"protocol":1,"id":"a","request":"hello"}',
    "empty": b"",
    "white space": b" \r",
    "text behind": b'{"protocol":1,"id":"a","request":"hello"} x',
    "duplicate key": b'{"protocol":1,"id":"a","id":"a","request":"hello"}',
    "lone surrogate": b'{"protocol":1,"id":"\\ud800","request":"hello"}',
    "not finite": b'{"protocol":1e999,"id":"a","request":"hello"}',
    "NaN": b'{"protocol":NaN,"id":"a","request":"hello"}',
    "long integer": b'{"protocol":' + b"9" * 5000 + b',"id":"a","request":"hello"}',
    "nesting of 65": b'{"protocol":1,"id":"a","request":"hello","x":' + b"[" * 64 + b"]" * 64 + b"}",
    "no object": b"[1]",
    "no id": b'{"protocol":1,"request":"hello"}',
}


@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_requests_name_their_line_and_exit_with_2(line: bytes) -> None:
    trainer = Trainer()
    assert trainer.ask("bye_bye")[0]["event"] == "skipped"
    (event,) = trainer.send(line + b"\n")
    assert (event["event"], event["id"], event["status"]) == ("error", "", "request")
    assert event["where"].endswith(":2")
    assert trainer.close() == 2


def test_a_nesting_of_64_and_a_surrogate_pair_can_be_read(trainer: Trainer) -> None:
    deep = b'{"protocol":1,"id":"\\ud83d\\ude00","request":"hello","x":' + b"[" * 63 + b"]" * 63 + b"}\n"
    (event,) = trainer.send(deep)
    assert (event["id"], event["event"], event["where"]) == ("\U0001f600", "error", "x")


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ({"protocol": 2, "id": "a", "request": "hello"}, "protocol"),
        ({"id": "a", "request": "hello"}, "protocol"),
        ({"protocol": 1, "id": "a", "request": "hello", "more": 1}, "more"),
        ({"protocol": 1, "id": "a", "request": "load", "context": CONTEXT}, "model"),
        ({"protocol": 1, "id": "a", "request": "load", "model": "m", "context": {}}, "context.device"),
    ],
)
def test_wrong_requests_name_the_key(trainer: Trainer, line: dict[str, object], where: str) -> None:
    (event,) = trainer.send(json.dumps(line).encode() + b"\n")
    assert (event["event"], event["status"], event["where"]) == ("error", "request", where)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 2**31),
        ("updates", 0),
        ("micro_batch", 5),
        ("length", 1),
        ("learning_rate", 0),
        ("warmup_updates", 7),
        ("decay", "constant"),
        ("beta1", 1),
        ("alpha", "4"),
        ("rank", True),
        ("targets", ["q_proj", "q_proj"]),
        ("targets", ["lm_head"]),
        ("template", "plain"),
        ("precision", "bf16"),
        ("surplus", 1),
    ],
)
def test_a_wrong_specification_names_its_key(
    tmp_path: Path, trainer: Trainer, key: str, value: object
) -> None:
    (event,) = trainer.ask("train", **Workplace(tmp_path).request("out", spec={key: value}))
    assert (event["event"], event["status"], event["where"]) == ("error", "spec", key)
    assert not (tmp_path / "out").exists()


def test_a_missing_key_of_the_specification_is_named(tmp_path: Path, trainer: Trainer) -> None:
    request = Workplace(tmp_path).request("out")
    del request["spec"]["decay_floor"]
    (event,) = trainer.ask("train", **request)
    assert (event["status"], event["where"]) == ("spec", "decay_floor")


def test_exit_statuses_without_an_unreadable_line() -> None:
    quiet = Trainer()
    assert quiet.ask("hello")[-1]["event"] == "done"
    assert quiet.ask("bye")[0] == {"id": "r2", "event": "bye", "handles_live": None, "bytes_live": None}
    assert quiet.close() == 0
    failing = Trainer()
    assert failing.ask("load", model="/nowhere")[0]["event"] == "error"
    assert failing.close() == 1


def test_the_end_of_input_is_a_bye() -> None:
    trainer = Trainer()
    assert trainer.process.stdin is not None
    trainer.process.stdin.close()
    assert list(trainer.events()) == [{"id": "", "event": "bye", "handles_live": None, "bytes_live": None}]
    assert trainer.process.wait(timeout=60) == 0


def test_without_torch_every_request_is_skipped_with_the_install_command(tmp_path: Path) -> None:
    """A package that shadows nothing: a finder that hides torch, put in place by sitecustomize."""
    hook = "import sys\nsys.modules['torch'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hook)
    trainer = Trainer({"PYTHONPATH": str(tmp_path)})
    for name in ("hello", "abi"):
        (event,) = trainer.ask(name)
        assert event["event"] == "skipped"
        assert "pip install" in event["reason"]
    assert trainer.close() == 0
