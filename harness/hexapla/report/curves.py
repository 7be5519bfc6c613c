"""The curves of one implementation as its raw events show them, for drawing.

Separate from `compare`, which is strict: a report must also draw a run that broke off in the middle, so an
odd line is left out here and counted. It judges nothing; the verdict stands in `results.jsonl`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Curve = Mapping[int, float]
"""Value by update; a value that is not finite is kept, as a gap in the line."""


@dataclass(frozen=True)
class Curves:
    """heldout_ce, step_loss in nats per label; gradient_norm before the clip; milliseconds per update."""

    heldout_ce: Curve = field(default_factory=dict)
    step_loss: Curve = field(default_factory=dict)
    gradient_norm: Curve = field(default_factory=dict)
    milliseconds: Curve = field(default_factory=dict)
    unreadable_lines: int = 0

    def __bool__(self) -> bool:
        return bool(self.step_loss or self.heldout_ce)


_FIELDS = {
    "step": {"loss": "step_loss", "gradient_norm": "gradient_norm", "milliseconds": "milliseconds"},
    "evaluation": {"loss": "heldout_ce"},
}


def read_curves(path: Path) -> Curves:
    """Read `train.jsonl`; an absent file gives empty curves. The first of two events of one update counts."""
    try:
        raw = path.read_bytes()
    except OSError:
        return Curves()
    curves: dict[str, dict[int, float]] = {
        "heldout_ce": {},
        "step_loss": {},
        "gradient_norm": {},
        "milliseconds": {},
    }
    unreadable = 0
    for line in raw.splitlines():
        if not line.strip():
            continue
        try:
            event = json.loads(line)
            for name, curve in _FIELDS.get(event["event"], {}).items():
                curves[curve].setdefault(int(event["step"]), float(event[name]))
        except (ValueError, TypeError, KeyError):
            unreadable += 1
    return Curves(**curves, unreadable_lines=unreadable)


def residual(a: Curve, b: Curve) -> dict[int, float]:
    """|a − b| / |b| where both have a value; what cannot be computed is NaN."""
    return {k: _relative(a[k], b[k]) for k in sorted(a.keys() & b.keys())}


def _relative(a: float, b: float) -> float:
    if a == b:
        return 0.0
    return abs(a - b) / abs(b) if b != 0 and math.isfinite(a - b) else math.nan
