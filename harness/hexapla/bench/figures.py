"""Medians and their intervals, and nothing else.

Separate because the honesty of a bench is here: an interval comes from order statistics, which assume no
distribution, and where there are too few rounds for 95 % there is none.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
ROUNDS_MINIMUM = 7
"""Fewest interleaved rounds that a claim stands on."""


@dataclass(frozen=True, slots=True)
class Middle:
    """A median with its interval; (None, None) where the values are too few for 95 %."""

    median: float
    low: float | None
    high: float | None
    count: int

    @property
    def interval(self) -> list[float | None]:
        return [self.low, self.high]


def middle(values: Sequence[float]) -> Middle:
    """Median and the narrowest symmetric pair of order statistics that covers it with 95 %.

    The k-th smallest and k-th largest of n cover the median with 1 − 2 P(B ≤ k − 1), B binomial(n, 1/2).
    ValueError without values.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    count = len(ordered)
    outside, kept = 0.0, 0
    for k in range(1, count // 2 + 1):
        outside += math.comb(count, k - 1) / 2**count
        if 1 - 2 * outside < CONFIDENCE:
            break
        kept = k
    low, high = (ordered[kept - 1], ordered[count - kept]) if kept else (None, None)
    return Middle(statistics.median(ordered), low, high, count)


def ratios(above: Sequence[float], below: Sequence[float]) -> Middle:
    """The middle of above[i] / below[i]: pairs of one round each. ValueError if the lengths differ."""
    return middle([a / b for a, b in zip(above, below, strict=True)])
