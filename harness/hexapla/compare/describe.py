"""A verdict as lines of text and as JSON: every statistic, always, `unknown` where one is not known.

Separate so that the command only finds and pairs runs. It computes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hexapla.compare.equivalence import ALPHA, Equivalence
from hexapla.compare.statistics import Residual, Statistics
from hexapla.compare.verdict import Verdict

UNKNOWN = "unknown"


def describe(verdict: Verdict) -> Iterator[str]:
    """One pair as lines, the outcome first."""
    head = f"{verdict.implementation} against {verdict.reference} ({verdict.mode}): {verdict.outcome.value}"
    yield head
    if verdict.reason:
        yield f"  {verdict.reason}"
    if verdict.statistics is not None:
        yield from _statistics(verdict.statistics)


def as_json(verdict: Verdict) -> dict[str, Any]:
    """One pair as JSON; numbers that are not finite are the protocol's strings, unknown ones `unknown`."""
    statistics = verdict.statistics.as_dict() if verdict.statistics is not None else {}
    return {
        "a": verdict.implementation,
        "b": verdict.reference,
        "mode": verdict.mode,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "first_outside": dict(verdict.statistics.first_outside) if verdict.statistics is not None else {},
        "statistics": {name: _plain(value) for name, value in statistics.items()},
    }


def _statistics(found: Statistics) -> Iterator[str]:
    heldout = found.heldout_ce
    size = (
        f"mean {_number(heldout.mean)}, max {_number(heldout.max)}{_at(heldout)}, std {_number(heldout.std)}"
    )
    changes = f"sign changes {_number(heldout.sign_changes)}"
    yield _row("held-out CE", f"{size}, {changes}, evaluations {heldout.count}{_unpaired(heldout)}")
    yield _row("untrained", f"{_number(found.untrained_total_rel)} in total")
    loss, norm = found.step_loss, found.gradient_norm
    yield _row("step loss", f"max {_number(loss.max)}{_at(loss)}, updates {loss.count}{_unpaired(loss)}")
    yield _row("gradient norm", f"median {_number(norm.median)}, max {_number(norm.max)}{_at(norm)}")
    yield _row("learning rate", f"max {_number(found.learning_rate.max)}")
    end = UNKNOWN if heldout.end_difference is None else f"{heldout.end_difference:+.3g}"
    yield _row("at the end", f"{end} nats per label, {_number(heldout.end_rel)} relative")
    outside = ", ".join(f"{name} at update {update}" for name, update in found.first_outside.items())
    yield _row("first outside", outside or "none known")
    yield _row("rounding floor", _multiple(found.floor_multiple))
    yield _row("seed envelope", _multiple(found.envelope_multiple))
    yield _row("equivalence", _interval(found.equivalence))
    yield _row("", f"within the bound: {_equivalence(found.equivalence)}")
    yield _row("", f"within the seed envelope: {_equivalence(found.envelope_equivalence)}")


def _interval(found: Equivalence | None) -> str:
    if found is None:
        return f"mean signed difference {UNKNOWN}"
    interval = f"{1 - 2 * ALPHA:.0%} in [{found.low:.3g}, {found.high:.3g}]"
    return f"mean signed difference {found.mean:+.3g}, {interval}"


def _equivalence(found: Equivalence | None) -> str:
    if found is None or found.p is None:
        return UNKNOWN
    word = "shown" if found.equivalent else "not shown"
    return f"{word}, margin {_number(found.margin)}, p {found.p:.2g}"


def _row(name: str, text: str) -> str:
    return f"  {name:15}{text}"


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3g}"


def _multiple(value: float | None) -> str:
    return UNKNOWN if value is None else f"× {value:.3g}"


def _at(residual: Residual) -> str:
    return "" if residual.max_update is None or not residual.max else f" at update {residual.max_update}"


def _unpaired(residual: Residual) -> str:
    return f" ({len(residual.unpaired)} more without a partner)" if residual.unpaired else ""


def _plain(value: float | None) -> float | str:
    if value is None:
        return UNKNOWN
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
