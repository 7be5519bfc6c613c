"""Computes a rounding floor, or a seed envelope, from the trajectories of N ≥ 8 runs.

Separate from the loader because this is measurement. All pairs of runs are compared and the largest value of
each statistic is kept: a floor is what rounding can do, not what it does on average. The caller vouches for
what the runs have in common (same seed and order, or only the seed differing); what can be checked is: equal
batch digests for a floor, differing ones for an envelope.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from hexapla.compare.bounds import (
    RUNS_MINIMUM,
    BoundsError,
    Provenance,
    RoundingFloor,
    SeedEnvelope,
    Yardsticks,
)
from hexapla.compare.statistics import measure
from hexapla.compare.trajectory import Trajectory

STATISTICS = (
    "heldout_ce_rel_mean",
    "heldout_ce_rel_max",
    "heldout_ce_end_rel",
    "untrained_total_rel",
    "step_loss_rel_max",
    "gradient_norm_rel_median",
    "gradient_norm_rel_max",
)

Describe = Callable[[dict[str, float], int], Provenance]
"""Makes the provenance (command, date, machine) once the figures and the number of runs are known."""


def rounding_floor(runs: Sequence[Trajectory], describe: Describe) -> RoundingFloor:
    """The largest difference that rounding alone made, over all pairs of `runs`.

    Raises BoundsError for fewer than 8 runs, one with a defect, or two that saw other batches.
    """
    _refuse_unsound(runs)
    digests = {_digests(run) for run in runs}
    if len(digests) > 1:
        raise BoundsError(
            "a rounding floor of runs that saw different batches: same seed and order are needed"
        )
    figures = _largest(runs)
    return RoundingFloor(figures, len(runs), describe(figures, len(runs)))


def seed_envelope(runs: Sequence[Trajectory], describe: Describe) -> SeedEnvelope:
    """The largest difference that another seed made, over all pairs of `runs`.

    Raises BoundsError for fewer than 8 runs, one with a defect, or two with the same batches.
    """
    _refuse_unsound(runs)
    if len({_digests(run) for run in runs}) < len(runs):
        raise BoundsError("a seed envelope of runs that saw the same batches: each needs a seed of its own")
    figures = _largest(runs)
    return SeedEnvelope(figures, len(runs), describe(figures, len(runs)))


def _refuse_unsound(runs: Sequence[Trajectory]) -> None:
    if len(runs) < RUNS_MINIMUM:
        raise BoundsError(f"{len(runs)} runs given: a floor takes at least {RUNS_MINIMUM}")
    for run in runs:
        if run.skipped is not None or run.defects:
            problem = f"skipped ({run.skipped})" if run.skipped is not None else str(run.defects[0])
            raise BoundsError(f"{run.source}: {problem}; a floor takes whole runs only")


def _digests(run: Trajectory) -> tuple[str, ...]:
    return tuple(run.steps[update].batch_digest for update in sorted(run.steps))


def _largest(runs: Sequence[Trajectory]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for one, other in itertools.combinations(runs, 2):
        values = measure(one.series, other.series, (one.source, other.source), Yardsticks()).figures()
        for name in STATISTICS:
            value = values.get(name, math.nan)
            if not math.isfinite(value):
                raise BoundsError(
                    f"{name} of {one.source} against {other.source} is not known: compare longer runs"
                )
            largest[name] = max(largest.get(name, 0.0), value)
    return largest
