"""Recorded memory figures of each implementation, and what counts as a regression from them.

Separate because a baseline is data: figures, the band that repeated runs showed, where both come from, and
for every time they were recorded anew the reason. It ships as `envelope/memory/<spec>.json`. Nothing here
runs a trainer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hexapla.compare.bounds import BoundsError, Provenance
from hexapla.protocol.results import Figure
from hexapla.spec import Spec

WATCHED = (
    "device_bytes_peak",
    "live_bytes_median",
    "update_peak_bytes_median",
    "growth_bytes_per_update",
    "limit_bytes_smallest",
    "limit_bytes_smallest_collector",
    "pressure_calls_in_loop",
)
"""The figures that are held to their baseline: memory, and how often a collector had to be asked."""

MARGIN = 3
"""Bands that a figure may lie off. Of nine like runs the last lies farther off than all others in one case of
nine, so that one band alone would cry out once in nine runs."""

_RESOLUTIONS = {
    "limit_bytes_smallest": "limit_bytes_resolution",
    "limit_bytes_smallest_collector": "limit_bytes_resolution_collector",
}


@dataclass(frozen=True, slots=True)
class Level:
    """One figure of one implementation: `value`, the median of the runs, and `band`, their largest distance
    from it, in the figure's unit. Above value + MARGIN bands is a regression, as far below an improvement."""

    value: float
    band: float


@dataclass(frozen=True, slots=True)
class Recording:
    """One time that figures were recorded: when, why, by which command."""

    date: str
    reason: str
    command: str


@dataclass(frozen=True)
class Baseline:
    """All implementations under one specification. `digest` is the specification's."""

    spec: str
    digest: str
    levels: Mapping[str, Mapping[str, Level]]
    provenance: Provenance
    history: tuple[Recording, ...]

    def figures(self, implementation: str) -> dict[str, Figure]:
        """The values of one implementation; {} when it has none."""
        return {name: level.value for name, level in self.levels.get(implementation, {}).items()}


@dataclass(frozen=True, slots=True)
class Change:
    """One figure against its baseline. `was` is None where none is recorded, `now` where it is gone."""

    implementation: str
    figure: str
    was: Level | None
    now: float | None

    @property
    def regressed(self) -> bool:
        """Absent on either side is no pass: a figure that is gone shows nothing any more."""
        return self.was is None or self.now is None or self.now > self.was.value + MARGIN * self.was.band

    @property
    def verdict(self) -> str:
        """In a word or two; "" for what is within its band."""
        if self.was is None:
            return "no baseline"
        if self.now is None:
            return "gone"
        return "regressed" if self.regressed else "improved" if self.improved else ""

    @property
    def improved(self) -> bool:
        return (
            self.was is not None
            and self.now is not None
            and self.now < self.was.value - MARGIN * self.was.band
        )

    def __str__(self) -> str:
        was = "nothing" if self.was is None else f"{self.was.value:,.0f} (band {self.was.band:,.0f})"
        now = "nothing" if self.now is None else f"{self.now:,.0f}"
        return f"{self.implementation}: {self.figure}: {was} -> {now}"


def path_of(spec: str) -> Path:
    """Where the baseline of a specification is kept."""
    return Path(str(files("hexapla.envelope").joinpath("memory", f"{spec}.json")))


def load_baseline(spec: str) -> Baseline | None:
    """The recorded baseline, None where there is none. Raises BoundsError for a file that is not one."""
    path = path_of(spec)
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_text("utf-8"))
        levels = {
            name: {figure: Level(**each) for figure, each in figures.items()}
            for name, figures in value["levels"].items()
        }
        history = tuple(Recording(**each) for each in value["history"])
        return Baseline(value["spec"], value["digest"], levels, Provenance(**value["provenance"]), history)
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, BoundsError):
            raise
        raise BoundsError(f"{path}: not a memory baseline ({error})") from error


def recorded_for(spec: Spec, model: Path) -> Baseline | None:
    """The baseline of exactly this specification; None for any model but the embedded one, whose it is."""
    embedded = Path(str(files("hexapla.data").joinpath("embedded", "model")))
    if model.resolve() != embedded.resolve():
        return None
    baseline = load_baseline(spec.name)
    return baseline if baseline is not None and baseline.digest == spec.digest else None


def save_baseline(baseline: Baseline, path: Path) -> None:
    """Write it whole, or leave the old one as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(baseline), indent=1, ensure_ascii=False) + "\n", "utf-8")
    partial.replace(path)


def measured(runs: Sequence[Mapping[str, Figure]]) -> dict[str, Level]:
    """Levels of the watched figures that every run has. The band is the largest distance from the median,
    and at least the resolution with which a limit was searched."""
    found = {}
    for name in WATCHED:
        values = sorted(float(run[name]) for run in runs if isinstance(run.get(name), (int, float)))
        if not values or len(values) < len(runs):
            continue
        middle = values[len(values) // 2]
        fineness = max(float(run.get(_RESOLUTIONS.get(name, ""), 0)) for run in runs)
        found[name] = Level(middle, max(values[-1] - middle, middle - values[0], fineness))
    return found


def changes(
    baseline: Baseline | None, implementation: str, figures: Mapping[str, Figure]
) -> Iterator[Change]:
    """Every watched figure that is recorded or seen, against the other."""
    recorded = baseline.levels.get(implementation, {}) if baseline is not None else {}
    for name in WATCHED:
        value = figures.get(name)
        now = float(value) if isinstance(value, (int, float)) else None
        if name in recorded or now is not None:
            yield Change(implementation, name, recorded.get(name), now)


def recorded_anew(old: Baseline | None, new: Baseline, recording: Recording) -> Baseline:
    """`new` for the implementations that it has, the others as they were, and the history with one line more.

    Raises BoundsError without a reason.
    """
    if not recording.reason.strip():
        raise BoundsError("a baseline is recorded anew only for a reason: give --reason")
    kept: dict[str, Any] = {}
    history: tuple[Recording, ...] = ()
    if old is not None:
        history = old.history
        kept = dict(old.levels) if old.digest == new.digest else {}
    return replace(new, levels={**kept, **new.levels}, history=(*history, recording))
