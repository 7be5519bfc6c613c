"""Two one-sided t tests (TOST): is the mean difference inside a margin, and the interval it lies in.

Separate because it is textbook statistics with a table to be tested against (Schuirmann 1987; t
distribution: Abramowitz and Stegun 26.7.3 and 26.7.4, exact for whole degrees of freedom, so that no SciPy
is needed). Its result sizes a residual and never decides a verdict: the evaluations of one run share their
history, so they are not independent and the true interval is wider than this one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ALPHA = 0.05


@dataclass(frozen=True)
class Equivalence:
    """Mean difference, its 1 − 2·ALPHA interval, the margin, and the larger of the two one-sided p values.

    All but `p` in the unit of the differences. Without a margin above 0 the interval is known and p is not.
    `equivalent` is p < ALPHA, that is: the interval lies inside ±margin.
    """

    mean: float
    low: float
    high: float
    margin: float | None
    p: float | None
    count: int

    @property
    def equivalent(self) -> bool | None:
        return None if self.p is None else self.p < ALPHA


def equivalence_of(differences: Sequence[float], margin: float | None) -> Equivalence | None:
    """TOST of the mean of signed `differences` against ±margin; None (unknown) for fewer than two of them,
    or one that is not finite."""
    n = len(differences)
    if n < 2 or not all(map(math.isfinite, differences)):
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((each - mean) ** 2 for each in differences) / (n - 1)
    error = math.sqrt(variance / n)
    half = t_quantile(1 - ALPHA, n - 1) * error
    p = _p_value(mean, error, margin, n - 1) if margin else None
    return Equivalence(mean, mean - half, mean + half, margin or None, p, n)


def _p_value(mean: float, error: float, margin: float, degrees: int) -> float:
    if error == 0:
        return 0.0 if abs(mean) < margin else 1.0
    p_low = 1 - t_probability((mean + margin) / error, degrees)
    p_high = t_probability((mean - margin) / error, degrees)
    return max(p_low, p_high)


def t_probability(t: float, degrees: int) -> float:
    """P(T ≤ t) of Student's t with whole `degrees` ≥ 1."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2 == 1
    # The series 1 + c²·1/2 + c⁴·(1·3)/(2·4) + … for even degrees, c + c³·2/3 + … for odd ones.
    term = cosine if odd else 1.0
    total = 0.0 if degrees == 1 else term
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    within = math.sin(angle) * total
    if odd:
        within = 2 / math.pi * (angle + within)
    return 0.5 + within / 2


def t_quantile(probability: float, degrees: int) -> float:
    """The t with P(T ≤ t) = probability, for 0.5 ≤ probability < 1, by bisection to the last bit."""
    low, high = 0.0, 1.0
    while t_probability(high, degrees) < probability:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        if t_probability(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return high
