"""All statistics of SPEC's "Statistics of a comparison", always, for one pair a against b.

Separate from the verdict: here is what two runs differ by, there whether that is allowed. What could not be
observed is None (printed as `unknown`), what is not a number stays NaN; neither is ever smaller than a bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hexapla.compare.bounds import Yardsticks
from hexapla.compare.equivalence import Equivalence, equivalence_of
from hexapla.compare.trajectory import Series

REFERENCES = ("torch", "oracle", "c")
"""b of a pair is the first of these that is in it: torch, without it the oracle, among core-driven ones c."""


@dataclass(frozen=True)
class Residual:
    """|a − b| / |b| of one curve over the updates that both have.

    `std` is the sample standard deviation. `unpaired` are the updates that only one side has.
    """

    count: int
    unpaired: tuple[int, ...]
    mean: float | None
    median: float | None
    max: float | None
    max_update: int | None
    std: float | None
    sign_changes: int | None
    end_difference: float | None
    end_rel: float | None
    relative: Mapping[int, float] = field(default_factory=dict)

    def first_outside(self, bound: float) -> int | None:
        """The first update whose relative difference is not inside `bound`; NaN is not inside."""
        return next((update for update, value in self.relative.items() if not value <= bound), None)


@dataclass(frozen=True)
class Statistics:
    """Everything measured of one pair. Relative figures have no unit; end difference in nats per label."""

    a: str
    b: str
    heldout_ce: Residual
    untrained_total_rel: float | None
    step_loss: Residual
    gradient_norm: Residual
    learning_rate: Residual
    first_outside: Mapping[str, int]
    floor_multiple: float | None
    envelope_multiple: float | None
    equivalence: Equivalence | None
    envelope_equivalence: Equivalence | None

    def figures(self) -> dict[str, float]:
        """The known ones, as `results.jsonl` names them."""
        return {name: value for name, value in self.as_dict().items() if value is not None}

    def as_dict(self) -> dict[str, float | None]:
        """All of them, None where unknown."""
        known: dict[str, float | None] = {
            "heldout_ce_rel_mean": self.heldout_ce.mean,
            "heldout_ce_rel_max": self.heldout_ce.max,
            "heldout_ce_rel_max_update": self.heldout_ce.max_update,
            "heldout_ce_rel_std": self.heldout_ce.std,
            "heldout_ce_sign_changes": self.heldout_ce.sign_changes,
            "heldout_ce_end_difference_nats": self.heldout_ce.end_difference,
            "heldout_ce_end_rel": self.heldout_ce.end_rel,
            "heldout_ce_evaluations_paired": self.heldout_ce.count,
            "untrained_total_rel": self.untrained_total_rel,
            "step_loss_rel_mean": self.step_loss.mean,
            "step_loss_rel_max": self.step_loss.max,
            "step_loss_rel_max_update": self.step_loss.max_update,
            "step_loss_updates_paired": self.step_loss.count,
            "gradient_norm_rel_median": self.gradient_norm.median,
            "gradient_norm_rel_max": self.gradient_norm.max,
            "gradient_norm_rel_max_update": self.gradient_norm.max_update,
            "learning_rate_rel_max": self.learning_rate.max,
            "first_outside_update": min(self.first_outside.values(), default=None),
            "rounding_floor_multiple": self.floor_multiple,
            "seed_envelope_multiple": self.envelope_multiple,
        }
        seeds = self.envelope_equivalence
        return known | {
            "equivalence_low_rel": self.equivalence.low if self.equivalence else None,
            "equivalence_high_rel": self.equivalence.high if self.equivalence else None,
            "equivalence_margin_rel": self.equivalence.margin if self.equivalence else None,
            "equivalence_p": self.equivalence.p if self.equivalence else None,
            "seed_envelope_equivalence_margin_rel": seeds.margin if seeds else None,
            "seed_envelope_equivalence_p": seeds.p if seeds else None,
        }


def reference_of(one: str, other: str) -> tuple[str, str]:
    """The pair as (a, b) with SPEC's choice of b; two that are no reference keep their order."""
    ranks = {name: rank for rank, name in enumerate(REFERENCES)}
    last = len(ranks)
    return (other, one) if ranks.get(one, last) < ranks.get(other, last) else (one, other)


def relative_difference(a: float, b: float) -> float:
    """|a − b| / |b|; 0 for two zeros, infinity against zero, NaN when a side is not finite."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.nan
    if a == b:
        return 0.0
    return math.inf if b == 0 else abs(a - b) / abs(b)


def measure_residual(a: Mapping[int, float], b: Mapping[int, float]) -> Residual:
    """One curve against another over the updates that both have, in order."""
    paired = sorted(a.keys() & b.keys())
    unpaired = tuple(sorted(a.keys() ^ b.keys()))
    if not paired:
        return Residual(0, unpaired, None, None, None, None, None, None, None, None)
    relative = {update: relative_difference(a[update], b[update]) for update in paired}
    values = np.array(list(relative.values()))
    signs = [math.copysign(1, a[k] - b[k]) for k in paired if math.isfinite(a[k] - b[k]) and a[k] != b[k]]
    last = paired[-1]
    # An infinite value (b is 0) has no spread; NumPy would warn and say NaN.
    spread = float(np.std(values, ddof=1)) if len(paired) > 1 and np.isfinite(values).all() else None
    return Residual(
        count=len(paired),
        unpaired=unpaired,
        mean=float(np.mean(values)),
        median=float(np.median(values)),
        max=float(np.max(values)),
        max_update=paired[int(np.argmax(values))],
        std=spread,
        sign_changes=sum(one != other for one, other in itertools.pairwise(signs)),
        end_difference=a[last] - b[last],
        end_rel=relative[last],
        relative=relative,
    )


def measure(a: Series, b: Series, names: tuple[str, str], yardsticks: Yardsticks) -> Statistics:
    """All statistics of a against b, both named; what lacks its yardstick is unknown."""
    heldout = measure_residual(_trained(a.heldout_ce), _trained(b.heldout_ce))
    loss = measure_residual(a.step_loss, b.step_loss)
    norm = measure_residual(a.gradient_norm, b.gradient_norm)
    signed = [_signed(a.heldout_ce[k], b.heldout_ce[k]) for k in heldout.relative]
    untrained = None
    if 0 in a.heldout_ce and 0 in b.heldout_ce:
        untrained = relative_difference(a.heldout_ce[0], b.heldout_ce[0])
    outside: dict[str, int] = {}
    for name, residual in (("heldout_ce", heldout), ("step_loss", loss), ("gradient_norm", norm)):
        bound = yardsticks.bound(f"{name}_rel_max")
        first = None if bound is None else residual.first_outside(bound)
        if first is not None:
            outside[name] = first
    floor, envelope = yardsticks.floor, yardsticks.envelope
    margin = yardsticks.bound("heldout_ce_rel_mean")
    seeds = envelope.figures.get("heldout_ce_rel_mean") if envelope else None
    return Statistics(
        a=names[0],
        b=names[1],
        heldout_ce=heldout,
        untrained_total_rel=untrained,
        step_loss=loss,
        gradient_norm=norm,
        learning_rate=measure_residual(a.learning_rate, b.learning_rate),
        first_outside=outside,
        floor_multiple=floor.multiple("heldout_ce_rel_mean", heldout.mean) if floor else None,
        envelope_multiple=envelope.multiple("heldout_ce_rel_mean", heldout.mean) if envelope else None,
        equivalence=equivalence_of(signed, margin),
        envelope_equivalence=equivalence_of(signed, seeds),
    )


def _trained(curve: Mapping[int, float]) -> dict[int, float]:
    """Update 0 apart: before training nothing can have parted, and it would dilute the mean."""
    return {update: value for update, value in curve.items() if update != 0}


def _signed(a: float, b: float) -> float:
    return math.copysign(relative_difference(a, b), a - b)
