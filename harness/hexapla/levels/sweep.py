"""Fail the Nth allocation of one update, N = 1, 2, 3, … until the update runs clean, within one process.

Separate because it is a search with an end of its own. Each point is tried twice, failing once and failing
for good; the number of points tried is a figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from hexapla.levels.checks import Attempt, Seen, probe, wrong
from hexapla.levels.session import Session

_MOST = 100_000  # an update that still fails here never runs clean


def judge_point(number: int, persistent: bool, seen: Seen) -> tuple[bool, str]:
    """(whether the update ran clean, what is wrong in words)."""
    way = "for good" if persistent else "once"
    place = f"allocation {number} failing {way}"
    clean = seen.get("fired") == 0
    words = wrong(seen, status="HXP_OK" if clean else "HXP_OUT_OF_MEMORY", live_difference=0)
    return clean, f"{place}: {words}" if words else ""


def sweep(session: Session, keys: Mapping[str, Any]) -> Attempt:
    """Go through the points until an update runs clean both ways. keys: those of a train request."""
    tried = 0
    for number in count(1):
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
