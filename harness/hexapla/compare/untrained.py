"""The evaluation of update 0, in total and record by record: forward pass and data pipeline, no training.

Separate from the trajectory's verdict because the question is another one (nothing has been learnt yet) and
because it names the record, not the update.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapla.compare.bounds import Bounds
from hexapla.compare.statistics import relative_difference
from hexapla.compare.verdict import Breach, Verdict
from hexapla.protocol.events import Evaluation, float_bits
from hexapla.protocol.results import Outcome


def judge_untrained(  # noqa: PLR0913 (the last two are for records, and may be left out)
    a: Evaluation,
    b: Evaluation,
    names: tuple[str, str],
    bounds: Bounds,
    labels: Sequence[int] | None = None,
    *,
    records: Sequence[str] | None = None,
) -> Verdict:
    """a against the reference b by `untrained_total_rel` and `untrained_record_scaled_max`.

    A record may differ by the bound × max(its NLL, its labels). Without `labels` (one count a record, in file
    order) 1 stands for every count, which is stricter. Bounds of 0 ask for equal bits. `records`: ids of the
    accepted records, for the words; without them their places, from 0, stand there.
    """
    if len(a.record_nll) != len(b.record_nll) or a.labels != b.labels:
        words = f"{len(a.record_nll)} records and {a.labels} labels, not {len(b.record_nll)} and {b.labels}"
        return _verdict(names, [Breach(None, words)], {})
    if not a.record_nll:
        return Verdict(*names, "bounds", Outcome.UNKNOWN, "no held-out record was evaluated")
    counts = labels if labels is not None else [1] * len(a.record_nll)
    scaled = [
        _scaled(one, other, count)
        for one, other, count in zip(a.record_nll, b.record_nll, counts, strict=True)
    ]
    total = relative_difference(a.total, b.total)
    worst = max(range(len(scaled)), key=lambda index: _rank(scaled[index]))
    total_bound, record_bound = bounds["untrained_total_rel"], bounds["untrained_record_scaled_max"]
    breaches = []
    if not record_bound.holds(scaled[worst]):
        outside = [index for index, value in enumerate(scaled) if not record_bound.holds(value)]
        first = outside[0]
        called = [str(index) for index in range(len(counts))] if records is None else list(records)
        words = (
            f"record {called[first]} of the held-out file: "
            f"NLL {a.record_nll[first]!r}, not {b.record_nll[first]!r}; "
            f"{len(outside)} of {len(scaled)} records outside, at most by {scaled[worst]:.3g} × "
            f"max(NLL, labels) at record {called[worst]}, bound {record_bound.value:.3g}"
        )
        breaches.append(Breach(None, words))
    if not total_bound.holds(total) or (total_bound.value == 0 and a.total_bits != b.total_bits):
        words = f"total {a.total!r}, not {b.total!r}: {total:.3g} relative, bound {total_bound.value:.3g}"
        breaches.append(Breach(None, words))
    figures = {
        "untrained_total_rel": total,
        "untrained_total_rel_bound": total_bound.value,
        "untrained_record_scaled_max": scaled[worst],
        "untrained_record_scaled_max_bound": record_bound.value,
        "untrained_record_scaled_max_record": float(worst),
    }
    return _verdict(names, breaches, figures)


def _scaled(a: float, b: float, labels: int) -> float:
    if float_bits(a) == float_bits(b) and a == b:
        return 0.0
    return abs(a - b) / max(abs(b), labels)


def _rank(value: float) -> float:
    """NaN is worse than everything."""
    return math.inf if math.isnan(value) else value


def _verdict(names: tuple[str, str], breaches: list[Breach], figures: dict[str, float]) -> Verdict:
    if not breaches:
        return Verdict(*names, "bounds", Outcome.PASS, "", figures=figures)
    reason = f"{names[0]} parts from {names[1]}: " + "; ".join(map(str, breaches))
    return Verdict(*names, "bounds", Outcome.FAIL, reason, tuple(breaches), figures=figures)
