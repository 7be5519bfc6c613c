"""Tries of a check and what follows from them: nothing but a check that held is a pass."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hexapla.levels.checks import RERUNS, Attempt, Checked, carry_out, conclude, wrong
from hexapla.levels.session import RequestFailed, RequestSkipped
from hexapla.protocol import Error, Outcome

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
        ([RequestSkipped("no finalisers")], Outcome.NOT_APPLICABLE, 1),
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


def test_wrong_figures_are_named() -> None:
    assert wrong({"right": 1600, "wrong": 0}, right=1600, wrong=0) == ""
    assert wrong({"right": 1599}, right=1600, wrong=0) == (
        "right is 1599, not 1600, wrong is 'absent', not 0"
    )
