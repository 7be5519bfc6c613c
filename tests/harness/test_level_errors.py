"""The level `errors` on answers, texts and runs that are wrong in one known way each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hexapla.compare.trajectory import Trajectory
from hexapla.levels.checks import Attempt
from hexapla.levels.errors import (
    judge_callback,
    judge_error_type,
    judge_status,
    judge_texts,
    judge_write,
    mask,
)
from hexapla.levels.survival import judge_resumed, last_checkpoint
from hexapla.levels.sweep import sweep
from hexapla.protocol import Outcome, parse_event
from synthetic_runs import run_events
from synthetic_sessions import ScriptedSession, Seen

STACKS = {"c": "core", "go": "core", "rust": "core"}
TEXTS = {"HXP_OK": "", "HXP_IO": "cannot open /nonexistent/hexapla: No such file or directory"}
MEMORY = "HXP_OUT_OF_MEMORY"


def test_masks_leave_the_rest() -> None:
    stale = "tensor handle 0x20000000000368c was released already"
    assert mask(stale) == "tensor handle <handle> was released already"
    wrong = "the context was made by thread 27436 for itself alone; this is thread 28522"
    assert mask(wrong) == (
        "the context was made by thread <number> for itself alone; this is thread <number>"
    )
    bad = "/tmp/hexapla-LP4gR2/bad.safetensors: the file has 7 bytes; the length takes 8"
    assert mask(bad) == "<folder>/bad.safetensors: the file has 7 bytes; the length takes 8"
    assert mask(TEXTS["HXP_IO"]) == TEXTS["HXP_IO"]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"HXP_IO": "cannot open /nonexistent/hexapla"}, "HXP_IO says 'cannot open /nonexistent/hexapla'"),
        ({"HXP_IO": TEXTS["HXP_IO"] + " "}, "HXP_IO says"),
        ({"HXP_IO": ""}, "HXP_IO says ''"),
        ({"HXP_OK": "fine"}, "HXP_OK says 'fine'"),
    ],
)
def test_another_text_fails_the_odd_one_out(other: Mapping[str, str], named: str) -> None:
    checked = judge_texts({"c": TEXTS, "go": TEXTS, "rust": {**TEXTS, **other}}, STACKS)
    assert {name: each.outcome for name, each in checked.items()} == {
        "c": Outcome.PASS,
        "go": Outcome.PASS,
        "rust": Outcome.FAIL,
    }
    assert named in checked["rust"].words
    checked = judge_texts({"c": {**TEXTS, **other}, "go": TEXTS, "rust": TEXTS}, STACKS)
    assert checked["c"].outcome is Outcome.FAIL and checked["go"].outcome is Outcome.PASS


def test_texts_alone_say_nothing() -> None:
    assert judge_texts({"go": TEXTS}, STACKS)["go"].outcome is Outcome.UNKNOWN


def test_no_texts_are_no_equal_texts() -> None:
    checked = judge_texts({"c": TEXTS, "go": {}}, STACKS)
    assert checked["go"].outcome is Outcome.SKIPPED
    assert checked["c"].outcome is Outcome.UNKNOWN
    skipped = judge_texts({"c": TEXTS, "go": {"HXP_OK": ""}}, STACKS)
    assert {each.outcome for each in skipped.values()} == {Outcome.PASS}


def test_a_status_comes_with_its_text() -> None:
    assert judge_status("HXP_IO", {"status": "HXP_IO", "message": "x"}) == ""
    assert judge_status("HXP_OK", {"status": "HXP_OK", "message": ""}) == ""
    assert judge_status("HXP_IO", {"status": "HXP_FORMAT", "message": "x"})
    assert judge_status("HXP_IO", {"status": "HXP_IO", "message": ""})
    assert judge_status("HXP_IO", {"status": "HXP_IO"}) == "its message is absent"
    assert judge_status("HXP_OK", {"status": "HXP_OK", "message": "x"})


def test_out_of_memory_is_an_error_of_the_languages_own() -> None:
    other = {"HXP_INVALID_ARGUMENT": "lib.Error"}
    assert judge_error_type(MEMORY, {**other, MEMORY: "lib.OutOfMemory"}) == ""
    assert "does not say" in judge_error_type(MEMORY, {**other, MEMORY: ""})
    assert "does not say" in judge_error_type(MEMORY, other)
    assert "cannot" not in judge_error_type("HXP_INVALID_ARGUMENT", other)
    words = judge_error_type(MEMORY, {**other, MEMORY: "lib.Error"})
    assert "as that of HXP_INVALID_ARGUMENT is" in words
    assert judge_error_type("HXP_OK", {"HXP_OK": ""}) == ""
    assert judge_error_type("HXP_OK", {"HXP_OK": "lib.Error"})


@pytest.mark.parametrize("change", [{"surfaced": 0}, {"alive": 0}, {"status": "HXP_OK"}])
def test_a_callback_that_throws(change: Seen) -> None:
    good: Seen = {"status": MEMORY, "surfaced": 1, "alive": 1}
    assert judge_callback(good) == "" and judge_callback(good | change)


@pytest.mark.parametrize("change", [{"previous_loads": 0}, {"status": "HXP_OK"}, {"status": "HXP_FORMAT"}])
def test_a_full_disk(change: Seen) -> None:
    good: Seen = {"status": "HXP_IO", "previous_loads": 1}
    assert judge_write(good) == "" and judge_write(good | change)


def allocating(count: int, **wrong: float | str) -> ScriptedSession:
    """An update of `count` allocations; `wrong` is seen at the seventh."""

    def answer(parameters: Mapping[str, Any]) -> Seen:
        number, fires = parameters["nth"], parameters["nth"] <= count
        fired = (count - number + 1 if parameters["persistent"] else 1) if fires else 0
        seen: Seen = {"fired": fired, "status": MEMORY if fires else "HXP_OK", "live_difference": 0}
        return seen | wrong if number == 7 else seen

    return ScriptedSession({"fail_allocation": answer})


def swept(session: ScriptedSession) -> Attempt:
    return sweep(session, {})  # type: ignore[arg-type]


def test_a_sweep_goes_on_until_an_update_runs_clean() -> None:
    session = allocating(50)
    assert swept(session) == Attempt(figures={"allocation_points": 100})
    asked = [(each["parameters"]["nth"], each["parameters"]["persistent"]) for each in session.asked]
    assert asked == [(number, persistent) for number in range(1, 52) for persistent in (0, 1)]
    assert all(each["context"] == {"ledger": None} for each in session.asked)


def test_a_sweep_fails() -> None:
    assert swept(allocating(0)).problem == "no allocation failed: the sweep never fired"
    assert (
        "allocation 7 failing once: live_difference is 64" in swept(allocating(9, live_difference=64)).problem
    )
    assert "status is 'HXP_OK'" in swept(allocating(9, status="HXP_OK")).problem
    assert "status is 'HXP_INTERNAL'" in swept(allocating(9, status="HXP_INTERNAL")).problem
    unsaid = swept(allocating(9, fired=0)).problem
    assert f"allocation 7 failing once: status is '{MEMORY}', not 'HXP_OK'" in unsaid


def made(**options: float) -> Trajectory:
    events = [parse_event(event) for event in run_events(updates=12, **options)]  # type: ignore[arg-type]
    return Trajectory.from_parsed("go", events, (1, 12))


def behind(run: Trajectory, update: int) -> Trajectory:
    return replace(
        run,
        steps={k: each for k, each in run.steps.items() if k > update},
        evaluations={k: each for k, each in run.evaluations.items() if k > update},
        checkpoints={k: each for k, each in run.checkpoints.items() if k > update},
    )


def test_a_resumed_run_has_the_same_bits() -> None:
    whole, other = made(), made(jitter=1e-12)
    assert judge_resumed(behind(whole, 5), whole, 5) == "" == judge_resumed(whole, whole, 0)
    assert "update 6: step loss_bits" in judge_resumed(behind(other, 5), whole, 5)
    assert "update 6" in judge_resumed(behind(whole, 6), whole, 5)
    short = Trajectory.from_parsed("go", [], (6, 12))
    assert judge_resumed(short, whole, 5).startswith("the run: ")
    assert judge_resumed(whole, short, 0).startswith("the undisturbed run: ")


def test_the_last_whole_checkpoint_counts(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) == 0
    for name in ("checkpoint-000002", "checkpoint-000010", "checkpoint-000011.partial"):
        (tmp_path / name).mkdir()
    assert last_checkpoint(tmp_path) == 10
