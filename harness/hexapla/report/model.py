"""Everything that a report shows, read once from a results folder.

Separate so that terminal, Markdown, JUnit, JSON and HTML are four ways to show one thing and cannot disagree.
It reads files of the folder and nothing else: no trainer, no level, no bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapla.protocol.results import (
    EXIT_UNFINISHED,
    GOOD_OUTCOMES,
    LEVELS,
    Header,
    Line,
    Outcome,
    Results,
    count,
    exit_status,
    read_results,
)
from hexapla.report.curves import Curves, read_curves
from hexapla.report.device import Device, read_device
from hexapla.report.samples import Samples, read_samples

STDERR_BYTES = 65536
"""Of a trainer's stderr the last 64 KiB are kept in a report."""

_FIRST = ("torch", "oracle", "c")


@dataclass(frozen=True)
class Report:
    """One run. `implementations` and `levels` are those with at least one line or with events, references
    first, levels in their order. `strict` may be asked for by the reader too."""

    folder: Path
    results: Results
    strict: bool
    implementations: tuple[str, ...]
    levels: tuple[str, ...]
    curves: dict[str, Curves]
    devices: dict[str, Device]
    samples: dict[str, Samples]
    stderr: dict[str, str]

    @property
    def header(self) -> Header:
        return self.results.header or Header()

    @property
    def counts(self) -> dict[str, int]:
        return count(self.results.lines)

    @property
    def exit_status(self) -> int:
        outcomes = (line.outcome for line in self.results.lines)
        return exit_status(outcomes, finished=self.results.finished, strict=self.strict)

    @property
    def unfinished(self) -> str:
        """Why the run counts as not finished; empty when it did."""
        if self.exit_status != EXIT_UNFINISHED:
            return ""
        faults = list(self.results.faults)
        if self.results.footer is None:
            faults.insert(0, "results.jsonl has no footer line")
        return "; ".join(faults)

    @property
    def reference(self) -> str | None:
        """Whom residuals are drawn against: torch, without it the oracle, then c, if they trained."""
        return next((name for name in (*_FIRST, *self.implementations) if self.curves.get(name)), None)

    def cell(self, implementation: str, level: str) -> Line | None:
        """The line of one place of the table; the first of two (two are a fault of their own)."""
        lines = (each for each in self.results.lines if each.implementation == implementation)
        return next((each for each in lines if each.level == level), None)

    def bad(self, outcome: Outcome) -> bool:
        """Whether this outcome alone makes the exit status 1."""
        return outcome not in GOOD_OUTCOMES or (self.strict and outcome is Outcome.SKIPPED)

    @property
    def failures(self) -> list[Line]:
        """Lines that make the run fail, what went wrong itself before what was only blocked by it."""
        bad = [line for line in self.results.lines if self.bad(line.outcome)]
        place = {level: index for index, level in enumerate(self.levels)}
        return sorted(bad, key=lambda line: (line.outcome is Outcome.BLOCKED, place[line.level]))

    def did_not_run(self) -> Iterator[tuple[str, str, str, str]]:
        """(implementation, level, outcome or "absent", reason) of everything that was not checked."""
        quiet = {Outcome.SKIPPED, Outcome.NOT_APPLICABLE, Outcome.BLOCKED}
        for implementation in self.implementations:
            for level in self.levels:
                line = self.cell(implementation, level)
                if line is None:
                    yield implementation, level, "absent", "no result line was written"
                elif line.outcome in quiet:
                    yield implementation, level, line.outcome.value, line.reason or "no reason was given"

    @property
    def levels_not_asked(self) -> tuple[str, ...]:
        return tuple(level for level in LEVELS if level not in self.levels)

    def as_json(self) -> dict[str, Any]:
        """What `hexapla report --json` prints."""
        return {
            "exit_status": self.exit_status,
            "finished": self.results.finished,
            "faults": list(self.results.faults),
            "counts": self.counts,
            "spec_digest": self.header.spec_digest,
            "core_fault": self.header.core_fault,
            "versions": dict(self.header.versions),
            "lines": [
                {
                    "implementation": line.implementation,
                    "axis": line.axis,
                    "level": line.level,
                    "outcome": line.outcome.value,
                    "reason": line.reason,
                    "figures": dict(line.figures),
                    "seconds": line.seconds,
                    "repeat": line.repeat,
                }
                for line in self.results.lines
            ],
        }


def read_report(folder: Path, *, strict: bool = False) -> Report:
    """Read a results folder, finished or not. Raises ResultsError when it holds no results file."""
    results = read_results(folder)
    lines = results.lines
    names = {line.implementation for line in lines} | set(
        results.header.implementations if results.header else ()
    )
    ordered = sorted(names, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    seen = {line.level for line in lines}
    levels = [level for level in LEVELS if level in seen] + sorted(seen - set(LEVELS))
    return Report(
        folder=folder,
        results=results,
        strict=strict or (results.header is not None and results.header.strict),
        implementations=tuple(ordered),
        levels=tuple(levels),
        curves={name: read_curves(_inside(folder, "events", name, "train.jsonl")) for name in ordered},
        devices={name: read_device(_inside(folder, "ledger", name)) for name in ordered},
        samples={name: read_samples(_inside(folder, "samples", f"{name}.jsonl")) for name in ordered},
        stderr={name: _tail(_inside(folder, "stderr", f"{name}.log")) for name in ordered},
    )


def _inside(folder: Path, *parts: str) -> Path:
    """A path under the folder; a name that would lead out of it leads to nothing."""
    if any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
        return folder / "no-such-file"
    return folder.joinpath(*parts)


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - STDERR_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
