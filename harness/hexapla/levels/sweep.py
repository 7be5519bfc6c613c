"""Fail the Nth allocation of one update, N = 1, 2, 3, … until the update runs clean, within one process.

Separate because it is a search with an end of its own. Each point is tried twice, failing once and failing
for good. What may go wrong at a point hardly depends on the language behind the first few, so that one
implementation goes through all of them and the others through the first `DENSE` and then every sixth or so
(each point further by a seventh); the number of points tried is a figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hexapla.levels.checks import Attempt, Seen, probe, wrong
from hexapla.levels.session import Session

DENSE = 20
_STRETCH = 7
_MOST = 100_000  # an update that still fails here never runs clean


def points(whole: bool) -> Iterator[int]:
    """The numbers of the allocations that are made to fail, rising without end."""
    number = 1
    while True:
        yield number
        number += 1 if whole or number < DENSE else number // _STRETCH


def judge_point(number: int, persistent: bool, seen: Seen) -> tuple[bool, str]:
    """(whether the update ran clean, what is wrong in words)."""
    way = "for good" if persistent else "once"
    place = f"allocation {number} failing {way}"
    clean = seen.get("fired") == 0
    words = wrong(seen, status="HXP_OK" if clean else "HXP_OUT_OF_MEMORY", live_difference=0)
    return clean, f"{place}: {words}" if words else ""


def sweep(session: Session, keys: Mapping[str, Any], *, whole: bool) -> Attempt:
    """Go through the points until an update runs clean both ways. keys: those of a train request."""
    tried = 0
    for number in points(whole):
        clean = []
        for persistent in (False, True):
            parameters = {"nth": number, "persistent": int(persistent), "train": keys}
            # A ledger for each of hundreds of points would say nothing that the figures do not.
            seen = probe(session, "fail_allocation", parameters, {"ledger": None}).seen
            ran, words = judge_point(number, persistent, seen)
            if words:
                return Attempt(problem=words, figures={"allocation_points": tried})
            clean.append(ran)
            tried += not ran
        if all(clean):
            break
        if number > _MOST:
            return Attempt(problem=f"allocation {number} of one update still fails")
    figures = {"allocation_points": tried}
    if not tried:
        return Attempt(problem="no allocation failed: the sweep never fired", figures=figures)
    return Attempt(figures=figures)
