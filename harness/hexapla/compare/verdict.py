"""Whether one run may differ from another as it does: statistics against bounds, or bit for bit.

Separate so that the words of a failure are made in one place: which implementation, which update, by how
much, against what bound. A defect of the run itself is never a pass, nor is a statistic that is unknown. A
reference that is itself defective judges nobody: that is `unknown`, not the other's failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hexapla.compare.bits import first_parting
from hexapla.compare.bounds import Yardsticks
from hexapla.compare.statistics import Residual, Statistics, measure
from hexapla.compare.trajectory import Series, Trajectory
from hexapla.protocol.results import Outcome

_WORDS = {
    "heldout_ce_rel_mean": ("held-out CE", "mean"),
    "heldout_ce_rel_max": ("held-out CE", "max"),
    "step_loss_rel_max": ("step loss", "max"),
    "gradient_norm_rel_median": ("gradient norm", "median"),
    "gradient_norm_rel_max": ("gradient norm", "max"),
}
_LAST = 2**53


@dataclass(frozen=True)
class Breach:
    """One thing outside: the first update it shows at (None for a mean or median) and a sentence."""

    update: int | None
    words: str

    def __str__(self) -> str:
        return self.words if self.update is None else f"update {self.update}: {self.words}"


@dataclass(frozen=True)
class Verdict:
    """The judgement of `implementation` against `reference`; `mode` is bits, bounds or statistics."""

    implementation: str
    reference: str
    mode: str
    outcome: Outcome
    reason: str
    breaches: tuple[Breach, ...] = ()
    statistics: Statistics | None = None
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def agree(self) -> bool | None:
        """True or False where the pair was compared to the end, None where it says nothing."""
        return {Outcome.PASS: True, Outcome.FAIL: False}.get(self.outcome)


def judge(a: Trajectory, b: Trajectory, yardsticks: Yardsticks, *, bits: bool) -> Verdict:
    """a against the reference b. `bits`: both are driven by the same core, or the rounding floor is 0."""
    mode = "bits" if bits or _zero_floor(yardsticks) else "bounds"
    if yardsticks.bounds is None and mode == "bounds":
        mode = "statistics"
    names = (a.implementation, b.implementation)
    early = _cannot_compare(a, b)
    if early is not None and not (a.observed and b.observed):
        return Verdict(*names, mode, *early)
    statistics = measure(a.series, b.series, names, yardsticks)
    figures = statistics.figures() | _bound_figures(yardsticks)
    if early is not None:
        return Verdict(*names, mode, *early, statistics=statistics, figures=figures)
    if mode == "bits":
        parting = first_parting(a, b)
        breaches = [] if parting is None else [Breach(None, str(parting))]
        unknown: list[str] = []
    else:
        exact = _exact_breaches(a, b, statistics)
        breaches = sorted((*exact, *_bound_breaches(statistics, yardsticks)), key=_when)
        unknown = _unknown(statistics, yardsticks)
    outcome, reason = _decide(a, b, breaches, unknown, _hint(a, statistics, breaches))
    return Verdict(*names, mode, outcome, reason, tuple(breaches), statistics, figures)


def judge_series(a: Series, b: Series, names: tuple[str, str], yardsticks: Yardsticks) -> Verdict:
    """The same for logs of other tools, which have curves and nothing else: no digest, no end, no bits.

    Only the bounds whose curve both logs have are asked for; with none of them the outcome is `unknown`.
    """
    mode = "statistics" if yardsticks.bounds is None else "bounds"
    statistics = measure(a, b, names, yardsticks)
    figures = statistics.figures() | _bound_figures(yardsticks)
    breaches = sorted(_bound_breaches(statistics, yardsticks), key=_when)
    if breaches:
        reason = f"{names[0]} parts from {names[1]}: {'; '.join(map(str, breaches))}"
        return Verdict(*names, mode, Outcome.FAIL, reason, tuple(breaches), statistics, figures)
    bounds = yardsticks.bounds or ()
    if any(figures.get(bound.name) is not None for bound in bounds if bound.name in _WORDS):
        return Verdict(*names, mode, Outcome.PASS, "", (), statistics, figures)
    reason = "nothing in common to hold against a bound" if bounds else "no bounds were given for these logs"
    return Verdict(*names, mode, Outcome.UNKNOWN, reason, (), statistics, figures)


def _cannot_compare(a: Trajectory, b: Trajectory) -> tuple[Outcome, str] | None:
    if a.skipped is not None:
        return Outcome.SKIPPED, f"{a.implementation} skipped: {a.skipped}"
    if a.defects:
        more = f" (and {len(a.defects) - 1} more)" if len(a.defects) > 1 else ""
        return Outcome.FAIL, f"{a.implementation}: {a.defects[0]}{more}"
    if b.skipped is not None:
        return Outcome.SKIPPED, f"{b.implementation} skipped: {b.skipped}"
    if b.defects:
        return Outcome.UNKNOWN, f"nothing to compare with, the reference {b.implementation}: {b.defects[0]}"
    if not (a.steps and b.steps):
        return Outcome.UNKNOWN, f"nothing observed of {b.implementation if a.steps else a.implementation}"
    return None


def _decide(
    a: Trajectory, b: Trajectory, breaches: list[Breach], unknown: list[str], hint: str
) -> tuple[Outcome, str]:
    if breaches:
        more = f"; {len(breaches) - 1} more outside" if len(breaches) > 1 else ""
        return Outcome.FAIL, f"{a.implementation} parts from {b.implementation}: {breaches[0]}{more}{hint}"
    if unknown:
        names = f"{a.implementation} against {b.implementation}"
        return Outcome.UNKNOWN, f"{names}: unknown: {', '.join(unknown)}"
    return Outcome.PASS, ""


def _exact_breaches(a: Trajectory, b: Trajectory, statistics: Statistics) -> Iterator[Breach]:
    for update in sorted(a.steps.keys() & b.steps.keys()):
        one, other = a.steps[update].batch_digest, b.steps[update].batch_digest
        if one != other:
            yield Breach(update, f"batch digest is {one}, not {other}: other records, order, ids or labels")
            break
    for what, residual in (("step", statistics.step_loss), ("evaluation", statistics.heldout_ce)):
        if residual.unpaired:
            count = len(residual.unpaired)
            yield Breach(residual.unpaired[0], f"only one of them has this {what}; {count} such")
    for update in sorted(a.evaluations.keys() & b.evaluations.keys()):
        one_labels, other_labels = a.evaluations[update].labels, b.evaluations[update].labels
        if one_labels != other_labels:
            yield Breach(update, f"held-out labels are {one_labels}, not {other_labels}")
            break


def _bound_breaches(statistics: Statistics, yardsticks: Yardsticks) -> Iterator[Breach]:
    if yardsticks.bounds is None:
        return
    values = statistics.as_dict()
    for bound in yardsticks.bounds:
        value = values.get(bound.name)
        if bound.name in _WORDS and value is not None and not bound.holds(value):
            yield _outside(bound.name, bound.value, value, statistics)


def _outside(name: str, bound: float, value: float, statistics: Statistics) -> Breach:
    curve, which = _WORDS[name]
    residual: Residual = getattr(statistics, name.partition("_rel_")[0])
    if which != "max":
        words = f"{curve}: {which} relative difference {value:.3g} of {residual.count}"
        return Breach(None, f"{words}, bound {bound:.3g}")
    first = residual.first_outside(bound)
    assert first is not None  # the maximum is outside, so one update is
    words = f"{curve} differs by {residual.relative[first]:.3g} relative, bound {bound:.3g}"
    return Breach(first, f"{words}; at most by {value:.3g}, at update {residual.max_update}")


def _unknown(statistics: Statistics, yardsticks: Yardsticks) -> list[str]:
    """Names of what a pass would need and nobody could observe."""
    if yardsticks.bounds is None:
        return ["no bounds for this pair"]
    values = statistics.as_dict()
    needed = [bound.name for bound in yardsticks.bounds if bound.name in _WORDS]
    return [name for name in needed if values.get(name) is None]


def _hint(a: Trajectory, statistics: Statistics, breaches: list[Breach]) -> str:
    """What the pattern of the differences says about where to look; empty when it says nothing."""
    if not breaches:
        return ""
    totals = [each.total_bits for update, each in sorted(a.evaluations.items())]
    if len(totals) > 1 and len(set(totals)) == 1:
        return f"; {a.implementation}'s held-out CE never moves: is the adapter on while it evaluates?"
    outside = statistics.first_outside
    if outside and set(outside) == {"heldout_ce"}:
        return "; steps agree, so look at the evaluation, not at the training"
    rates = statistics.learning_rate
    # Both sides round the same f64 to f32, so more than two units of f32 is another schedule.
    first = rates.first_outside(2 * 2.0**-23)
    return f"; the learning rate differs from update {first} on: look at the schedule" if first else ""


def _zero_floor(yardsticks: Yardsticks) -> bool:
    """A rounding floor of exactly 0 makes bit-equality the bound."""
    floor = yardsticks.floor
    return floor is not None and bool(floor.figures) and not any(floor.figures.values())


def _bound_figures(yardsticks: Yardsticks) -> dict[str, float]:
    if yardsticks.bounds is None:
        return {}
    return {f"{bound.name}_bound": bound.value for bound in yardsticks.bounds if bound.name in _WORDS}


def _when(breach: Breach) -> int:
    return _LAST if breach.update is None else breach.update
