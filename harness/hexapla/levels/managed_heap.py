"""Case B1's last sentence: beside large buffers the runtime's own heap hardly grows.

Separate because it is the one figure of the level `memory` that neither core nor the kernel can tell: only
the runtime knows its heap. That it stays small is why its collector alone would never run.
"""

from __future__ import annotations

from dataclasses import replace

from hexapla.levels.checks import Attempt, Seen

FIGURE = "managed_heap_growth_bytes"
GROWTH_BELOW = 1 << 20


def with_heap(attempt: Attempt, seen: Seen, variant: str, collects: bool) -> Attempt:
    """What the loop showed, and its figure of the heap. variant: of the loop, "closed" or "lost".

    A language without a managed heap says nothing of it; one with a collector that does not say is unknown.
    """
    growth = seen.get(FIGURE)
    if not isinstance(growth, (int, float)):
        if collects and not attempt.problem:
            return replace(attempt, unknown=f"it does not say how its own heap grew ({FIGURE})")
        return attempt
    figures = {**attempt.figures, f"{FIGURE}_{variant}": growth}
    problem = attempt.problem
    if not problem and growth >= GROWTH_BELOW:
        problem = f"its own heap grew by {growth:,.0f} bytes, not by less than {GROWTH_BELOW:,}"
    return replace(attempt, problem=problem, figures=figures)
