"""`hexapla memory`: the memory-pressure regression suite, figures of the level `memory` against a baseline.

Separate from `conform`, which judges a run by itself and against c: here the judge is what was recorded, so
that memory that creeps up in everybody at once is seen as well. A baseline is data of the package; it is
recorded anew only by --rebaseline, which shows the difference, and only for a reason, which is kept.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hexapla.commands.conform import add_run_arguments, conduct
from hexapla.commands.inputs import UsageError
from hexapla.commands.show import Show
from hexapla.compare.bounds import RUNS_MINIMUM, BoundsError, Provenance
from hexapla.envelope.baseline import (
    Baseline,
    Change,
    Recording,
    changes,
    load_baseline,
    measured,
    path_of,
    recorded_anew,
    save_baseline,
)
from hexapla.levels.memory import Memory
from hexapla.protocol import Outcome
from hexapla.protocol.results import EXIT_BAD, EXIT_GOOD, Figure
from hexapla.report.model import Report
from hexapla.spec import Spec, load_spec

Runs = Mapping[str, Sequence[Mapping[str, Figure]]]
"""The figures of each run, by implementation."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla memory`."""
    parser = subparsers.add_parser("memory", help="hold device memory to its recorded baseline")
    add_run_arguments(parser)
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="how often to run the level")
    parser.add_argument("--rebaseline", action="store_true", help="record what these runs show")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why it is recorded anew; kept with it")
    parser.set_defaults(run=memory, level=[Memory.name], spec="micro", references="none")


def memory(arguments: argparse.Namespace) -> int:
    """0 when nothing regressed, 1 for a regression, for a level that did not pass, for a missing baseline."""
    if arguments.rebaseline and not arguments.reason.strip():
        raise UsageError("--rebaseline wants --reason TEXT: it is kept beside the figures")
    count = arguments.runs or (RUNS_MINIMUM if arguments.rebaseline else 1)
    if arguments.rebaseline and count < RUNS_MINIMUM:
        raise UsageError(f"--runs {count}: a band takes at least {RUNS_MINIMUM} runs")
    spec = load_spec(arguments.spec)
    old = _baseline(spec)
    show = Show(to_stderr=arguments.json)
    runs, failed = _run_level(arguments, count, show)
    found = _compare(old, runs)
    if arguments.json:
        print(json.dumps(_object(found, failed), indent=2))
    for each in found:
        if each.verdict:
            show.say(f"{each.verdict}: {each}")
    for words in failed:
        show.say(words)
    if failed:
        return EXIT_BAD
    if arguments.rebaseline:
        _record(arguments, spec, runs)
        show.say(f"recorded in {path_of(spec.name)}: {arguments.reason}")
        return EXIT_GOOD
    show.say(f"{sum(not each.regressed for each in found)} of {len(found)} figures within their baseline")
    return EXIT_BAD if any(each.regressed for each in found) or not found else EXIT_GOOD


def _baseline(spec: Spec) -> Baseline | None:
    try:
        baseline = load_baseline(spec.name)
    except BoundsError as error:
        raise UsageError(str(error)) from None
    return baseline if baseline is not None and baseline.digest == spec.digest else None


def _run_level(arguments: argparse.Namespace, count: int, show: Show) -> tuple[Runs, list[str]]:
    """The figures of `count` runs, and in words each implementation that did not pass."""
    base = arguments.results or Path("runs") / datetime.now(UTC).strftime("memory-%Y-%m-%dT%H-%M-%S")
    runs: dict[str, list[Mapping[str, Figure]]] = {}
    failed: list[str] = []
    for number in range(1, count + 1):
        each = copy.copy(arguments)
        each.results = base / f"run-{number}"
        report = conduct(each, show)
        failed += _not_passed(report)
        for line in report.results.lines:
            if line.outcome is Outcome.PASS:
                runs.setdefault(line.implementation, []).append(line.figures)
        if failed:
            break
    return runs, failed


def _not_passed(report: Report) -> list[str]:
    fine = (Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.SKIPPED)
    words = [
        f"{line.implementation}: {line.outcome.value}: {line.reason}"
        for line in report.results.lines
        if line.outcome not in fine
    ]
    return words or ([] if report.results.finished else [f"the run did not finish: {report.unfinished}"])


def _compare(old: Baseline | None, runs: Runs) -> list[Change]:
    """The median of several runs is what is held to the baseline."""
    found: list[Change] = []
    for name, each in runs.items():
        figures = {figure: level.value for figure, level in measured(each).items()}
        found += changes(old, name, figures)
    return found


def _record(arguments: argparse.Namespace, spec: Spec, runs: Runs) -> None:
    if not runs:
        raise UsageError("--rebaseline: no implementation has figures to record")
    command = shlex.join(["hexapla", *arguments.words])
    date = datetime.now(UTC).date().isoformat()
    levels = {name: measured(each) for name, each in runs.items()}
    peaks = {name: each["device_bytes_peak"].value for name, each in levels.items()}
    provenance = Provenance(
        "measured",
        "figures of the level memory: median of the runs, band their largest distance from it",
        command,
        date,
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        min(len(each) for each in runs.values()),
        peaks,
    )
    recording = Recording(date, arguments.reason, command)
    new = Baseline(spec.name, spec.digest, levels, provenance, ())
    save_baseline(recorded_anew(load_baseline(spec.name), new, recording), path_of(spec.name))


def _object(found: Sequence[Change], failed: Sequence[str]) -> dict[str, Any]:
    return {
        "failed": list(failed),
        "figures": [
            {
                "implementation": each.implementation,
                "figure": each.figure,
                "baseline": None if each.was is None else each.was.value,
                "band": None if each.was is None else each.was.band,
                "now": each.now,
                "verdict": each.verdict,
            }
            for each in found
        ],
    }
