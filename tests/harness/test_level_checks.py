"""Tries of a check and what follows from them: nothing but a check that held is a pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hexapla.levels.checks import RERUNS, Attempt, Checked, carry_out, conclude, expect, wrong
from hexapla.levels.level import Finding, Level, NotApplicable
from hexapla.levels.run import Hooks, Participant, Run
from hexapla.levels.session import RequestFailed, RequestSkipped
from hexapla.protocol import Error, Line, Outcome

HELD, BROKEN = Attempt(), Attempt(problem="7 wrong")


def tried(attempts: Iterable[Attempt | Exception]) -> Checked:
    left = iter(attempts)

    def once() -> Attempt:
        attempt = next(left)
        if isinstance(attempt, Exception):
            raise attempt
        return attempt

    return carry_out("race", once)


@pytest.mark.parametrize(
    ("attempts", "outcome", "tries"),
    [
        ([HELD], Outcome.PASS, 1),
        ([BROKEN] * 6, Outcome.FAIL, 1 + RERUNS),
        ([BROKEN, HELD, HELD, HELD, HELD, HELD], Outcome.FLAKY, 1 + RERUNS),
        ([BROKEN, BROKEN, BROKEN, BROKEN, BROKEN, HELD], Outcome.FLAKY, 1 + RERUNS),
        ([Attempt(unknown="nothing moved")], Outcome.UNKNOWN, 1),
        ([NotApplicable("no finalisers")], Outcome.NOT_APPLICABLE, 1),
        ([RequestSkipped("not written yet")], Outcome.SKIPPED, 1),
        ([RequestFailed("probe", Error("p", "HXP_BUSY", "busy", "x"))] * 6, Outcome.FAIL, 1 + RERUNS),
    ],
)
def test_tries_and_outcome(attempts: list[Attempt | Exception], outcome: Outcome, tries: int) -> None:
    checked = tried(attempts)
    assert checked.outcome is outcome and len(checked.attempts) == tries
    assert (checked.words == "") == (outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE))


def test_the_worst_decides_and_all_figures_stay() -> None:
    held = Checked("one", (Attempt(figures={"threads_seen": 9}),))
    absent = Checked("two", (Attempt(absent="no finalisers"),))
    unknown = Checked("three", (Attempt(unknown="nothing moved"),))
    flaky, broken = Checked("four", (BROKEN, HELD)), Checked("five", (BROKEN,))
    good = conclude("go", [held, absent])
    assert good.outcome is Outcome.PASS and good.reason == ""
    assert good.figures == {"threads_seen": 9, "two_not_applicable": 1, "checks_passed": 1}
    assert conclude("go", [absent]).outcome is Outcome.NOT_APPLICABLE
    assert conclude("go", [held, unknown]).outcome is Outcome.UNKNOWN
    assert conclude("go", [held, unknown, flaky]).outcome is Outcome.FLAKY
    worst = conclude("go", [held, unknown, flaky, broken])
    assert worst.outcome is Outcome.FAIL and worst.reason == "go: five: 7 wrong" and worst.axis == "runtime"


def test_what_was_not_answered_is_no_pass() -> None:
    """A fail stays a fail; without one, a required check that nobody answered makes the level `skipped`."""
    held, absent = Checked("one", (HELD,)), Checked("two", (Attempt(absent="no finalisers"),))
    silent = [Checked(name, (Attempt(unanswered="not written yet"),)) for name in ("three", "four")]
    found = conclude("go", [held, absent, *silent])
    assert found.outcome is Outcome.SKIPPED and found.axis == "none"
    assert found.reason == "go: three, four: not written yet"
    assert found.figures == {
        "two_not_applicable": 1,
        "three_skipped": 1,
        "four_skipped": 1,
        "checks_passed": 1,
    }
    assert conclude("go", silent).outcome is Outcome.SKIPPED
    failed = conclude("go", [held, *silent, Checked("five", (BROKEN,))])
    assert failed.outcome is Outcome.FAIL and failed.reason == "go: five: 7 wrong"
    unknown = conclude("go", [*silent, Checked("six", (Attempt(unknown="nothing moved"),))])
    assert unknown.outcome is Outcome.UNKNOWN and unknown.figures["three_skipped"] == 1


EXPECTED = {"five": "issue 12"}


def test_an_expected_failure_hides_no_other() -> None:
    held, broken, other = (
        Checked("one", (HELD,)),
        Checked("five", (BROKEN,)),
        Checked("six", (Attempt(problem="x"),)),
    )
    known = expect("go", conclude("go", [held, broken]), EXPECTED)
    assert known.outcome is Outcome.EXPECTED_FAIL and known.reason == "go: five: issue 12 (7 wrong)"
    assert known.figures == {"checks_passed": 1, "five_expected_fail": 1}
    both = expect("go", conclude("go", [held, broken, other]), EXPECTED)
    assert both.outcome is Outcome.FAIL and both.reason == "go: six: x"
    assert both.figures["five_expected_fail"] == 1
    silent = Checked("six", (Attempt(unanswered="not written yet"),))
    assert expect("go", conclude("go", [held, broken, silent]), EXPECTED).outcome is Outcome.SKIPPED
    mixed = expect("go", conclude("go", [held, Checked("five", (BROKEN, HELD))]), EXPECTED)
    assert mixed.outcome is Outcome.FLAKY


def test_an_expected_failure_that_passes_is_said() -> None:
    """On its own, and beside what is worse."""
    held, fixed, other = (
        Checked("one", (HELD,)),
        Checked("five", (HELD,)),
        Checked("six", (Attempt(problem="x"),)),
    )
    words = "five: passes, though binding.toml expects: issue 12"
    found = expect("go", conclude("go", [held, fixed]), EXPECTED)
    assert found.outcome is Outcome.UNEXPECTED_PASS and found.reason == f"go: {words}"
    found = expect("go", conclude("go", [held, fixed, other]), EXPECTED)
    assert found.outcome is Outcome.FAIL and found.reason == f"go: six: x; {words}"


def test_a_line_of_another_level_changes_nothing() -> None:
    found = conclude("go", [Checked("one", (BROKEN,))])
    assert expect("go", found, EXPECTED) is found


class Asked(Level[tuple[Checked, ...]]):
    """A level that found what it was made with."""

    name: ClassVar[str] = "ownership"

    def __init__(self, *checked: Checked) -> None:
        self.checked = checked

    def observe(self, session: Any, inputs: Any) -> tuple[Checked, ...]:
        return self.checked

    def judge(self, observed: Mapping[str, Any], stacks: Any, inputs: Any) -> dict[str, Finding]:
        return {name: conclude(name, checked) for name, checked in observed.items()}


BYE = Checked("bye", (BROKEN,))
RACE = Checked("close_race", (BROKEN,))
FIXED = Checked("close_race", (HELD,))


@pytest.mark.parametrize(
    ("expected", "checked", "outcome", "said"),
    [
        ({"close_race": "issue 12"}, [FIXED, BYE], Outcome.FAIL, "go: bye: 7 wrong; close_race: passes"),
        ({"close_race": "issue 12"}, [RACE, BYE], Outcome.FAIL, "go: bye: 7 wrong"),
        ({"close_race": "issue 12"}, [RACE], Outcome.EXPECTED_FAIL, "go: close_race: issue 12 (7 wrong)"),
        ({"close_race": "issue 12"}, [FIXED], Outcome.UNEXPECTED_PASS, "go: close_race: passes"),
        ({"ownership": "issue 12"}, [RACE, BYE], Outcome.EXPECTED_FAIL, "issue 12 (go: "),
        ({"ownership": "issue 12"}, [FIXED], Outcome.UNEXPECTED_PASS, "binding.toml expects: issue 12"),
        (
            {"ownership": "issue 12", "close_race": "13"},
            [RACE, BYE],
            Outcome.EXPECTED_FAIL,
            "issue 12 (go: b",
        ),
        ({"ownership": "issue 12", "close_race": "13"}, [RACE], Outcome.EXPECTED_FAIL, "go: close_race: 13"),
        ({"abi": "issue 12"}, [RACE], Outcome.FAIL, "go: close_race: 7 wrong"),
    ],
)
def test_a_run_holds_each_line_to_what_it_names(
    expected: dict[str, str], checked: list[Checked], outcome: Outcome, said: str
) -> None:
    lines: list[Line] = []
    session: Any = SimpleNamespace(close=lambda: None, abandon=lambda: None)
    inputs: Any = None
    hooks = Hooks(lines.append, lambda *_: None, lambda *_: None)
    participant = Participant("go", "core", expected, session)
    Run([participant], inputs, hooks, lambda *_: "again").go_through([Asked(*checked)])
    assert [line.outcome for line in lines] == [outcome] and lines[0].reason.startswith(said)


def test_wrong_figures_are_named() -> None:
    assert wrong({"right": 1600, "wrong": 0}, right=1600, wrong=0) == ""
    assert wrong({"right": 1599}, right=1600, wrong=0) == (
        "right is 1599, not 1600, wrong is 'absent', not 0"
    )
