"""Each way in which a trainer can break the protocol is named right, in time, and leaves no process."""

from __future__ import annotations

import time
from typing import Any

import psutil
import pytest
from fake_types import MakeTrainer
from hexapla.process import Limits, TrainerFailure
from hexapla.process.group import TOKEN_VARIABLE
from hexapla.protocol import Done, Outcome, Reason, Record, Skipped
from hexapla.spec import load_spec

RENDER = {"tokenizer": "/nowhere", "records": "/nowhere", "template": "qwen3", "length": 8}
CONTEXT = {"device": "cpu:0", "threads": 1, "memory_limit": 0, "spill": False, "ledger": None}


def ask(trainer: Any, request: str) -> None:
    """The request that makes a fake do what it does wrong, then a proper end."""
    trainer.hello()
    spec = load_spec("micro")
    folders = {name: "/nowhere" for name in ("model", "tokenizer", "heldout", "adapter")}
    if request == "render":
        trainer.ask("render", "render", **RENDER)
    elif request == "evaluate":
        trainer.ask("evaluate", "evaluate", context=CONTEXT, spec=spec.values, **folders)
    elif request == "train":
        trainer.ask(
            "train",
            "train",
            context=CONTEXT,
            spec=spec.values,
            spec_digest=spec.digest,
            train="/nowhere",
            output="/nowhere",
            resume_from=None,
            stop_after=None,
            schedule="pinned",
            release="explicit",
            **folders,
        )
    trainer.close()


def carrying(token: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(TOKEN_VARIABLE) == token and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    ("fake", "request_name", "reason", "word"),
    [
        ("not_json", "render", Reason.NOT_JSON, "line 3"),
        ("wrong_protocol", "render", Reason.WRONG_PROTOCOL, "protocol 2"),
        ("unknown_key", "render", Reason.WRONG_PROTOCOL, "mood"),
        ("bits_lie", "evaluate", Reason.WRONG_PROTOCOL, "loss_bits"),
        ("unknown_id", "render", Reason.UNKNOWN_ID, "nobody"),
        ("step_order", "train", Reason.STEP_ORDER, "step 2 where step 1"),
        ("after_end", "render", Reason.AFTER_END, "had ended"),
        ("missing_end", "render", Reason.MISSING_END, "exit status 0"),
        ("exit_status", "render", Reason.EXIT_STATUS, "exit status 1"),
        ("crash", "render", Reason.SIGNAL, "SIGSEGV"),
        ("hang", "render", Reason.SILENCE, "1 s"),
        ("stdout_flood", "render", Reason.STDOUT_FLOOD, "bytes"),
        ("stderr_flood", "render", Reason.STDERR_FLOOD, "bytes"),
        ("child_left", "render", Reason.CHILD_LEFT, "left process"),
        ("no_start", "render", Reason.NO_START, "a library that is not there"),
        ("closed_stdout", "render", Reason.MISSING_END, "exit status 7"),
    ],
)
def test_failure_is_named(
    trainer: MakeTrainer, fake: str, request_name: str, reason: Reason, word: str
) -> None:
    limits = Limits(stderr_bytes=1 << 20)
    running = trainer(fake, silence_s=1.0 if fake == "hang" else 20.0, limits=limits)
    started = time.monotonic()
    with pytest.raises(TrainerFailure) as caught:
        ask(running, request_name)
    assert caught.value.reason is reason
    assert word in caught.value.detail
    assert time.monotonic() - started < 10
    assert carrying(running._token) == []


def test_good_ends_well(trainer: MakeTrainer) -> None:
    """The control: without it the failures above could come from the harness."""
    running = trainer("good")
    running.hello()
    answer = running.ask("render", "render", **RENDER)
    assert [type(event) for event in answer.events] == [Record, Record]
    assert isinstance(answer.end, Done)
    assert isinstance(running.ask("abi", "abi").end, Skipped)
    running.close()
    assert running.failure is None


def test_events_are_kept_as_they_came(trainer: MakeTrainer, tmp_path: Any) -> None:
    """A failed request leaves what was said until then, the wrong line included."""
    running = trainer("not_json")
    with pytest.raises(TrainerFailure):
        ask(running, "render")
    assert (tmp_path / "events/not_json/render.jsonl").read_bytes() == b"Rendering: 50%|#####\n"


def test_work_is_not_silence(trainer: MakeTrainer) -> None:
    """Three seconds of CPU time with a limit of one second of silence."""
    running = trainer("busy", silence_s=1.0)
    ask(running, "render")
    assert running.failure is None


def test_full_pipes(trainer: MakeTrainer, tmp_path: Any) -> None:
    """Case J1: received bytes equal written bytes on both streams."""
    running = trainer("full_pipes")
    running.hello()
    answer = running.ask("render", "render", **RENDER)
    assert len(answer.events) == 5000
    running.close()
    assert (tmp_path / "stderr/full_pipes.log").stat().st_size == 1 << 20


def test_stacks_of_a_hanging_python(trainer: MakeTrainer, tmp_path: Any) -> None:
    """Before the kill, the runtime says where it hung."""
    with pytest.raises(TrainerFailure):
        ask(trainer("hang", silence_s=1.0), "render")
    assert "wait_for_ever" in (tmp_path / "stderr/hang.log").read_text("utf-8")


def test_reasons_have_their_outcomes() -> None:
    assert Reason.SILENCE.outcome is Outcome.TIMED_OUT
    assert Reason.SIGNAL.outcome is Outcome.CRASHED
    assert Reason.NOT_JSON.outcome is Outcome.FAIL
