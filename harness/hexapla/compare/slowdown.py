"""A run that became slow and stayed right (case J4): told from one slow step, and from a busy machine.

Separate because it is a function of step times alone, with the time that threads stood ready but did not get
a core as a second witness where somebody has it. Memory pressure slows every step from some step on; a busy
machine slows too, but then the time is spent in the run queue. It never doubts a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from hexapla.compare.bounds import Bounds

_SHARE_ODD = 0.1  # of all steps; more slow ones than that, but never enough in a row, are noise
_SHARE_WAITED = 0.5  # of the slow-down; more of it spent waiting for a core is the machine's doing


class Pace(StrEnum):
    """What step times say. UNKNOWN: too few steps to tell."""

    STEADY = "steady"
    MEMORY_PRESSURE = "memory pressure"
    NOISY = "noisy"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`since`: the first slow step, `flagged`: the step at which that was certain, both counted from 1 and
    0 where nothing is; `ratio`: slow steps over those before them."""

    pace: Pace
    since: int = 0
    flagged: int = 0
    ratio: float = 1.0

    @property
    def words(self) -> str:
        if self.pace is Pace.STEADY or self.pace is Pace.UNKNOWN:
            return self.pace.value
        if not self.since:
            return f"{self.pace.value}: some steps take {self.ratio:.1f} times as long"
        return f"{self.pace.value}: steps take {self.ratio:.1f} times as long from step {self.since} on"


def pace_of(step_ms: Sequence[float], bounds: Bounds, waiting_ms: Sequence[float] | None = None) -> Verdict:
    """Judge the steps of a run in order.

    step_ms: milliseconds of each. waiting_ms: of each step, milliseconds in which a thread of the process
    was ready and had no core; None: not known. bounds: `slowdown_ratio` and `slowdown_steps`, how many times
    slower and for how many steps in a row. As many steps must have come before.
    """
    ratio, row = bounds["slowdown_ratio"].value, int(bounds["slowdown_steps"].value)
    if len(step_ms) < 2 * row:
        return Verdict(Pace.UNKNOWN)
    slow_in_row = 0
    for index in range(row, len(step_ms)):
        first = index - slow_in_row
        usual = median(step_ms[:first])
        slow_in_row = slow_in_row + 1 if step_ms[index] > ratio * usual else 0
        if slow_in_row == row:
            slow = step_ms[first : index + 1]
            pace = Pace.MEMORY_PRESSURE
            if waiting_ms is not None:
                waited = median(waiting_ms[first : index + 1]) - median(waiting_ms[:first])
                if waited > _SHARE_WAITED * (median(slow) - usual):
                    pace = Pace.NOISY
            return Verdict(pace, first + 1, index + 1, median(slow) / usual)
    usual = median(step_ms)
    slow = [each for each in step_ms if each > ratio * usual]
    if len(slow) > _SHARE_ODD * len(step_ms):
        return Verdict(Pace.NOISY, ratio=median(slow) / usual)
    return Verdict(Pace.STEADY)
