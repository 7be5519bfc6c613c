"""`hexapla compare RUN RUN…`: finds the runs, pairs them, prints what they differ by.

A part of the command line that lives beside what it calls: the one file here that may load bounds from
`envelope`. A RUN is a results folder, an events file (`…/train.jsonl`) or another tool's log. Pairs: within
one RUN everyone with everyone, across RUNs the same implementation, or the two when each RUN holds but one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hexapla.compare.attribution import CORE, Agreement, Attribution, attribute
from hexapla.compare.bounds import BoundsError, Yardsticks
from hexapla.compare.describe import as_json, describe
from hexapla.compare.foreign import ForeignLogError, read_foreign
from hexapla.compare.statistics import reference_of
from hexapla.compare.trajectory import Series, Trajectory
from hexapla.compare.verdict import Verdict, judge, judge_series
from hexapla.envelope.load import load_bounds, load_rounding_floor, load_seed_envelope
from hexapla.protocol.results import EXIT_BAD, EXIT_GOOD, EXIT_USAGE, Outcome, ResultsError, read_results

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_BOUNDS = "paired_tiny"
CORE_BOUNDS = "core_bits"
_OWN_STACKS = {"torch": "torch", "oracle": "numpy"}


@dataclass(frozen=True)
class Run:
    """One run of one implementation, wherever it was found. `trajectory` is None for another tool's log."""

    source: str
    implementation: str
    stack: str
    series: Series
    trajectory: Trajectory | None = None


def add_parser(subparsers: Subparsers) -> None:
    """Add `compare` to the command line."""
    parser = subparsers.add_parser(
        "compare", help="compare runs: results folders, events files, other tools' logs"
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument(
        "--bounds", metavar="NAME|FILE", help=f"bounds of a pair (our runs: {DEFAULT_BOUNDS})"
    )
    parser.add_argument("--floor", metavar="NAME|FILE", help="a measured rounding floor: it bounds")
    parser.add_argument("--envelope", metavar="NAME|FILE", help="a measured seed envelope: it only sizes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0: every pair passed; 1: one did not, `unknown` (no bounds) included; 2: a RUN cannot be read."""
    try:
        yardsticks = Yardsticks(
            load_bounds(arguments.bounds) if arguments.bounds else None,
            load_rounding_floor(arguments.floor) if arguments.floor else None,
            load_seed_envelope(arguments.envelope) if arguments.envelope else None,
        )
        sources = [_read(path) for path in arguments.runs]
    except (BoundsError, ForeignLogError, ResultsError) as error:
        print(f"hexapla compare: {error}", file=sys.stderr)
        return EXIT_USAGE
    verdicts = [_judge(one, other, yardsticks) for one, other in _pairs(sources)]
    if not verdicts:
        print("hexapla compare: no two runs to compare; give a second RUN", file=sys.stderr)
        return EXIT_USAGE
    attribution = _attribution(sources, verdicts)
    _print(verdicts, attribution, arguments.json)
    return EXIT_GOOD if all(verdict.outcome is Outcome.PASS for verdict in verdicts) else EXIT_BAD


def _read(path: Path) -> list[Run]:
    if path.is_dir():
        runs = [_own(path, each) for each in sorted(path.glob("events/*/train.jsonl"))]
        if not runs:
            raise ResultsError(f"{path}: no events/<implementation>/train.jsonl in it; give a results folder")
        return runs
    if _is_events(path):
        return [_own(path.parents[2] if len(path.parents) > 2 else path.parent, path)]
    return [Run(str(path), name, "other", series) for name, series in read_foreign(path).items()]


def _own(folder: Path, events: Path) -> Run:
    name = events.parent.name
    try:
        header = read_results(folder).header
    except ResultsError:
        header = None
    said = header.implementations.get(name, {}).get("stack") if header else None
    trajectory = Trajectory.from_events(events)
    return Run(str(folder), name, said or _OWN_STACKS.get(name, "not known"), trajectory.series, trajectory)


def _is_events(path: Path) -> bool:
    """A protocol event is an object with `id` and `event`; other tools' lines have neither."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and {"id", "event"} <= first.keys()


def _pairs(sources: Sequence[Sequence[Run]]) -> Iterator[tuple[Run, Run]]:
    for runs in sources:
        yield from itertools.combinations(runs, 2)
    for ones, others in itertools.combinations(sources, 2):
        for one, other in itertools.product(ones, others):
            if one.implementation == other.implementation or len(ones) == len(others) == 1:
                yield one, other


def _judge(one: Run, other: Run, yardsticks: Yardsticks) -> Verdict:
    first, _ = reference_of(one.implementation, other.implementation)
    a, b = (one, other) if first == one.implementation else (other, one)
    if one.implementation == other.implementation:
        # Across two runs of one implementation the RUN named first is the reference.
        a, b = other, one
    names = (_label(a, b), _label(b, a))
    if a.trajectory is None or b.trajectory is None:
        return judge_series(a.series, b.series, names, yardsticks)
    bits = a.stack == b.stack == CORE
    if yardsticks.bounds is None:
        yardsticks = replace(yardsticks, bounds=load_bounds(CORE_BOUNDS if bits else DEFAULT_BOUNDS))
    runs = [replace(each.trajectory, implementation=name)
            for each, name in zip((a, b), names, strict=True) if each.trajectory is not None]  # fmt: skip
    return judge(runs[0], runs[1], yardsticks, bits=bits)


def _label(run: Run, other: Run) -> str:
    """The implementation, with its RUN where both are the same implementation."""
    return (
        run.implementation
        if run.implementation != other.implementation
        else f"{run.source}:{run.implementation}"
    )


def _attribution(sources: Sequence[Sequence[Run]], verdicts: Sequence[Verdict]) -> Attribution | None:
    """Only within one results folder: across runs nobody knows what else was changed."""
    if len(sources) != 1 or any(run.trajectory is None for run in sources[0]):
        return None
    stacks = {run.implementation: run.stack for run in sources[0]}
    pairs = [Agreement(each.implementation, each.reference, each.agree) for each in verdicts]
    return attribute(stacks, pairs)


def _print(verdicts: Sequence[Verdict], attribution: Attribution | None, as_object: bool) -> None:
    if as_object:
        value = {
            "pairs": [as_json(verdict) for verdict in verdicts],
            "attribution": None if attribution is None else {
                "axis": attribution.axis.value,
                "implementations": list(attribution.implementations),
                "words": attribution.words,
            },
        }  # fmt: skip
        print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))
        return
    for verdict in verdicts:
        print("\n".join(describe(verdict)), end="\n\n")
    if attribution is not None:
        print(f"axis: {attribution.words}")
