"""Bounds, the rounding floor and the seed envelope as values that carry their provenance.

Separate because comparing needs them and must not know where they are kept (`envelope` loads and measures
them). The floor and the envelope are two types with no common parent: the floor bounds a verdict, the
envelope only sizes an effect, and a function that wants one cannot be handed the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

RUNS_MINIMUM = 8
"""Fewer runs than this say nothing of a spread (ARCHITECTURE: N ≥ 8)."""


class BoundsError(ValueError):
    """A bound, floor or envelope that cannot be used; the message is one line: what, where, what to do."""


@dataclass(frozen=True)
class Provenance:
    """Where a number comes from.

    `given`: somebody decided it, `source` says who and why. `measured`: `command`, `date` and `machine`
    repeat the measurement of `runs` runs, `figures` are what it printed.
    """

    kind: str
    source: str
    command: str = ""
    date: str = ""
    machine: str = ""
    runs: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in ("given", "measured"):
            raise BoundsError(f"provenance kind {self.kind!r}: say given or measured")
        if not self.source.strip():
            raise BoundsError("provenance without a source: say where the number comes from")
        if self.kind == "measured":
            words = {"command": self.command, "date": self.date, "machine": self.machine}
            missing = [name for name, word in words.items() if not word.strip()]
            if not self.figures:
                missing.append("figures")
            if missing:
                raise BoundsError(f"measured provenance without {', '.join(missing)}: give what repeats it")
            _refuse_few(self.runs, "a measured bound")


@dataclass(frozen=True)
class Bound:
    """One limit: a difference of more than `value` `unit` in what `bounds` says is outside."""

    name: str
    value: float
    unit: str
    bounds: str
    provenance: Provenance

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0):
            raise BoundsError(f"bound {self.name} is {self.value}: give a finite number ≥ 0")

    def holds(self, value: float) -> bool:
        """False for NaN too: what is not known to be inside is outside."""
        return value <= self.value


@dataclass(frozen=True)
class Bounds:
    """A named set of bounds, by statistic."""

    name: str
    summary: str
    each: Mapping[str, Bound]

    def __getitem__(self, name: str) -> Bound:
        if name not in self.each:
            raise BoundsError(f"bounds {self.name} have none for {name}; it has {', '.join(self.each)}")
        return self.each[name]

    def __contains__(self, name: object) -> bool:
        return name in self.each

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.each.values())


@dataclass(frozen=True)
class RoundingFloor:
    """What rounding alone does: same seed, same order, N ≥ 8 runs with only rounding changed.

    `figures`: per statistic the largest value over all pairs of runs. It bounds paired verdicts; a figure of
    exactly 0 makes bit-equality the bound.
    """

    figures: Mapping[str, float]
    runs: int
    provenance: Provenance

    def __post_init__(self) -> None:
        _refuse_few(self.runs, "a rounding floor")
        _refuse_odd(self.figures, "a rounding floor")

    def multiple(self, statistic: str, value: float | None) -> float | None:
        """`value` as a multiple of the floor; None where one of them is unknown."""
        return _multiple(self.figures, statistic, value)


@dataclass(frozen=True)
class SeedEnvelope:
    """What another seed does: N ≥ 8 seeds of one implementation. It sizes an effect and bounds nothing."""

    figures: Mapping[str, float]
    runs: int
    provenance: Provenance

    def __post_init__(self) -> None:
        _refuse_few(self.runs, "a seed envelope")
        _refuse_odd(self.figures, "a seed envelope")

    def multiple(self, statistic: str, value: float | None) -> float | None:
        """`value` as a multiple of the envelope; None where one of them is unknown."""
        return _multiple(self.figures, statistic, value)


@dataclass(frozen=True)
class Yardsticks:
    """What a comparison is held against; what is None makes the statistics that need it unknown."""

    bounds: Bounds | None = None
    floor: RoundingFloor | None = None
    envelope: SeedEnvelope | None = None

    def bound(self, name: str) -> float | None:
        """The value of one bound, None where there is none."""
        return self.bounds[name].value if self.bounds is not None and name in self.bounds else None


def _multiple(figures: Mapping[str, float], statistic: str, value: float | None) -> float | None:
    if value is None or statistic not in figures:
        return None
    unit = figures[statistic]
    if unit == 0:
        return 0.0 if value == 0 else math.inf
    return value / unit


def _refuse_few(runs: int, what: str) -> None:
    if runs < RUNS_MINIMUM:
        raise BoundsError(f"{what} of {runs} runs: it takes at least {RUNS_MINIMUM}")


def _refuse_odd(figures: Mapping[str, float], what: str) -> None:
    for name, value in figures.items():
        if not (math.isfinite(value) and value >= 0):
            raise BoundsError(f"{what} with {name} = {value}: give a finite number ≥ 0")
