"""How fast a series grows from update to update: a least-squares slope with its 95 % interval.

Separate because it is arithmetic on numbers that anybody may have counted; what growth means is the level's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist, linear_regression

# Student's t at 97.5 %, for 1 … 10 degrees of freedom; beyond, the series below is exact to 3 digits.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True, slots=True)
class Growth:
    """Per update, in the unit of the series. The interval is 95 %."""

    slope: float
    low: float
    high: float

    def within(self, bound: float) -> bool:
        """Not shown to grow by more than `bound`: the interval reaches down to it."""
        return self.low <= bound


def growth(values: Mapping[int, float]) -> Growth | None:
    """Fit value over update; None for fewer than three updates, which say nothing of a spread."""
    count = len(values)
    if count < 3:
        return None
    updates, heights = list(values.keys()), list(values.values())
    slope, intercept = linear_regression(updates, heights)
    middle = sum(updates) / count
    squares = sum((y - intercept - slope * x) ** 2 for x, y in zip(updates, heights, strict=True))
    spread = sum((x - middle) ** 2 for x in updates)
    half = _t(count - 2) * math.sqrt(squares / (count - 2) / spread)
    return Growth(slope, slope - half, slope + half)


def _t(freedom: int) -> float:
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
