"""What the machine is and how busy others keep it.

Separate because "noisy" is decided here and nowhere else: by the load average before the first run, and by
the processor time that others took while it was measured.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

LOAD_MAX = 0.5
"""Load average (1 min) per core above which a measurement begins on a busy machine."""
OTHERS_MAX = 0.10
"""Share of the machine's processor time that others may take in the median run. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Processor seconds of the whole machine, busy and altogether, since it started."""

    busy: float
    total: float


def now() -> Moment:
    """Read the machine's counters; time stolen by a hypervisor counts as busy."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # within user already
    total = sum(times) - guest
    return Moment(total - idle, total)


def others_share(before: Moment, after: Moment, own_seconds: float) -> float:
    """Part of the machine's time between two moments that was neither idle nor ours, from 0 to 1."""
    total = after.total - before.total
    if total <= 0:
        return 0.0
    return min(1.0, max(0.0, (after.busy - before.busy - own_seconds) / total))


def why_noisy(load_average: float, others: float) -> str:
    """The reason in words, or "" on a quiet machine."""
    cores = os.cpu_count() or 1
    reasons = []
    if load_average > LOAD_MAX * cores:
        reasons.append(f"load average {load_average:.2f} at the start on {cores} cores")
    if others > OTHERS_MAX:
        reasons.append(f"others took {others:.0%} of the processors in the median run")
    return "; ".join(reasons)


def description() -> dict[str, str | int]:
    """System, architecture, processor and cores."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
