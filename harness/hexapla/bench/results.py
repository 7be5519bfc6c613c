"""The bench's JSON: what every key means is written here, once.

Separate because other tools read it. `…_interval` holds the 95 % interval of the number beside it, [null,
null] where the rounds are too few. Ratios are medians over rounds of the two implementations' values in the
same round. A figure that could not be taken is absent, and `failed` says why.

speed_ratio_core_to_torch   torch's step time by core's (implementation c); of torch's variants the faster
step_ms_median              milliseconds an update, by implementation (median over rounds of a run's median)
step_cpu_ms_median          processor milliseconds an update, all threads: a check that load disturbs less
wall_ratio_to_c             seconds of a whole train request by c's; process start and first load apart
call_ns                     nanoseconds a call through the language's safe layer (bench/calls.py)
call_ns_over_c              the same less c's: what the language adds to core's own work
noisy                       true: the machine was busy, nothing here is a claim; `noisy_reason` says how
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hexapla.bench import machine
from hexapla.bench.figures import ROUNDS_MINIMUM, Middle, middle, ratios
from hexapla.bench.sample import Sample

BENCH_VERSION = 1
CORE = "c"
TORCH = ("torch", "torch-active")


@dataclass
class Bench:
    """All samples by implementation, one a round; calls by language; failures in words."""

    shape: str
    updates: int
    threads: int
    rounds: int
    load_average: float
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    calls: dict[str, Middle] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def noisy(self) -> str:
        """Why the machine was too busy to claim anything; "" if it was not."""
        shares = [sample.others for samples in self.samples.values() for sample in samples]
        return machine.why_noisy(self.load_average, middle(shares).median if shares else 0.0)

    def steps(self, name: str) -> list[float]:
        """A run's median step in milliseconds, by round."""
        return [sample.step_ms_median for sample in self.samples[name]]

    def wall_ratio(self, name: str) -> Middle | None:
        """Seconds of the train request by c's of the same round."""
        if CORE not in self.samples:
            return None
        return ratios(*([sample.wall_s for sample in self.samples[each]] for each in (name, CORE)))

    def speed_ratio(self) -> tuple[str, Middle] | None:
        """The faster variant of torch and its step time by core's; None unless both ran."""
        present = [name for name in TORCH if name in self.samples]
        if CORE not in self.samples or not present:
            return None
        best = min(present, key=lambda name: middle(self.steps(name)).median)
        return best, ratios(self.steps(best), self.steps(CORE))

    @property
    def claims(self) -> str:
        """Why these figures prove nothing; "" if they may be quoted."""
        if self.rounds < ROUNDS_MINIMUM:
            few = f"{self.rounds} rounds, a claim needs {ROUNDS_MINIMUM}"
            return "; ".join(filter(None, (self.noisy, few)))
        return self.noisy


def to_json(bench: Bench, command: str, versions: Mapping[str, str], started: str) -> dict[str, Any]:
    """The whole document."""
    speed = bench.speed_ratio()
    document: dict[str, Any] = {
        "bench": BENCH_VERSION,
        "command": command,
        "started": started,
        "shape": bench.shape,
        "updates": bench.updates,
        "threads": bench.threads,
        "rounds": bench.rounds,
        "machine": machine.description(),
        "versions": {"python": platform.python_version(), **versions},
        "load_average_start": bench.load_average,
        "noisy": bool(bench.noisy),
        "noisy_reason": bench.noisy,
        "failed": bench.failed,
    }
    if speed is not None:
        variant, ratio = speed
        document |= _with_interval("speed_ratio_core_to_torch", ratio)
        document["torch_variant"] = variant
    names = list(bench.samples)
    document |= _table("step_ms_median", {name: middle(bench.steps(name)) for name in names})
    document |= _table("step_cpu_ms_median", {name: _cpu(bench.samples[name]) for name in names})
    document |= _table("wall_ratio_to_c", {name: bench.wall_ratio(name) for name in names})
    document |= _table("call_ns", bench.calls)
    if CORE in bench.calls:
        floor = bench.calls[CORE].median
        document["call_ns_over_c"] = {name: each.median - floor for name, each in bench.calls.items()}
    document["others_cpu_share_median"] = {
        name: middle([sample.others for sample in samples]).median for name, samples in bench.samples.items()
    }
    document["samples"] = {
        name: [{"step_ms": each.step_ms, "wall_s": each.wall_s} for each in samples]
        for name, samples in bench.samples.items()
    }
    return document


def _cpu(samples: Sequence[Sample]) -> Middle | None:
    values = [sample.cpu_ms for sample in samples if sample.cpu_ms is not None]
    return middle(values) if values else None


def _with_interval(key: str, value: Middle) -> dict[str, Any]:
    return {key: value.median, f"{key}_interval": value.interval}


def _table(key: str, values: Mapping[str, Middle | None]) -> dict[str, Any]:
    known = {name: value for name, value in values.items() if value is not None}
    return {
        key: {name: value.median for name, value in known.items()},
        f"{key}_interval": {name: value.interval for name, value in known.items()},
    }
