"""What the sampler left of one implementation (`samples/<implementation>.jsonl`), its processes together.

Separate from the table that shows it, and from the sampler that wrote it: a report reads files only. What is
not there is not there, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOT_AVAILABLE = "not available"

ADDED = ("core_changes", "affinity_changes", "switches_voluntary", "switches_involuntary")
"""Counts that add up over processes; of the rest the largest is kept."""
LARGEST = (
    "threads_seen",
    "rss_bytes_peak",
    "swap_bytes_peak",
    "descriptors_peak",
    "children_peak",
    "device_bytes_peak",
)


@dataclass(frozen=True, slots=True)
class Samples:
    """What the sampler saw of all processes of one implementation. `values`: by the names of its summaries,
    counts added up over processes, the rest the largest. `source`: who told the device's memory."""

    values: Mapping[str, int]
    source: str
    processes: int


def read_samples(path: Path) -> Samples:
    """Read `samples/<implementation>.jsonl`; an absent file, or one that broke off, gives what there is."""
    values: dict[str, int] = {}
    source, processes = NOT_AVAILABLE, 0
    try:
        raw = path.read_bytes()
    except OSError:
        return Samples({}, source, 0)
    for line in raw.splitlines():
        summary = _summary(line)
        if summary is None:
            continue
        processes += 1
        source = summary.get("device_source") or source if source == NOT_AVAILABLE else source
        for name in (*ADDED, *LARGEST):
            value = summary.get(name)
            if isinstance(value, int):
                before = values.get(name, 0)
                values[name] = before + value if name in ADDED else max(before, value)
    return Samples(values, source, processes)


def _summary(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    summary = value.get("summary") if isinstance(value, dict) else None
    return summary if isinstance(summary, dict) else None
