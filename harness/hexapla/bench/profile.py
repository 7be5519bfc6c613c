"""`hexapla profile`: where a step's time goes, by operation, from the ledger of one run.

Separate because it needs no help from the trainer: core stamps the end of every call, so the time between
two stamps of an update belongs to the later call, the caller's own work before it included. `backward` is
one call over all its operations, and the ledger says nothing of its inside: it is shown as one line.
An update lasts from its `context_mark` to its last `adamw_step`: evaluations and saving are not in it.
"""

from __future__ import annotations

import argparse
import json
import shlex
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.table import Table

from hexapla.bench.command import _inputs
from hexapla.bench.sample import context, train_keys
from hexapla.commands.inputs import UsageError
from hexapla.commands.participants import Preparation, find, launch_of
from hexapla.data.files import write_atomically
from hexapla.levels.level import Inputs
from hexapla.levels.session import ContextChoice
from hexapla.process import Launch, Trainer, TrainerFailure
from hexapla.protocol import Done, ledger
from hexapla.toolchains import BuildError, Places, ToolchainMissing, build_binding

_MARK, _ADAMW = 4, 82
_PARTS = {"forward": range(48, 64), "backward": (37,), "optimizer": range(80, 83)}
"""Operation numbers of a part of the step; all others are handles and copies."""
_OTHER = "handles and copies"
_WARM_UPDATES = 2
"""Updates left out at the start: caches fill and pages are mapped."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operation: calls and milliseconds an update, and its share of the update."""

    operation: str
    part: str
    calls: float
    ms: float
    share: float


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla profile`."""
    parser = subparsers.add_parser("profile", help="show a step's time by operation, from the ledger")
    parser.add_argument("--binding", default="c", metavar="NAME|PATH", help="whose run (default c)")
    parser.add_argument("--shape", default="tiny", choices=("tiny", "micro"), help="the spec and its records")
    parser.add_argument(
        "--updates", type=int, default=10, metavar="N", help="updates of the run (default 10)"
    )
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="worker threads of the context")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0: profiled; 1: it could not be built or run."""
    if arguments.updates <= _WARM_UPDATES or arguments.threads < 1:
        raise UsageError(f"--updates must be above {_WARM_UPDATES} and --threads at least 1")
    console = Console(highlight=False, soft_wrap=True)
    [found] = find([arguments.binding], Places.find(), "none")
    if found.manifest is None:
        raise UsageError(found.problem)
    with tempfile.TemporaryDirectory(prefix="hexapla-profile-") as folder:
        work = Path(folder)
        choice = ContextChoice("cpu:0", arguments.threads)
        preparation = Preparation(Places.find(), work, choice, console.print, lambda _name, _event: None)
        inputs = _inputs(arguments, work)
        try:
            core = preparation.built_core() if found.manifest.needs_core else None
            launch = launch_of(build_binding(found.manifest, Places.find(), core), work)
            records = _record(launch, inputs, arguments.updates, arguments.threads)
        except (BuildError, ToolchainMissing, TrainerFailure) as error:
            console.print(f"{found.name}: {error}", markup=False)
            return 1
    rows = rows_of(records)
    if not rows:
        raise UsageError(f"--binding {found.name}: its run left no ledger; only core-driven ones have one")
    _print(rows, console)
    if arguments.json is not None:
        document = to_json(rows, found.name, shlex.join(["hexapla", *arguments.words]))
        write_atomically(arguments.json, (json.dumps(document, indent=2) + "\n").encode())
    return 0


def _record(launch: Launch, inputs: Inputs, updates: int, threads: int) -> npt.NDArray[np.void]:
    path = inputs.work / "profile.bin"
    trainer = Trainer(launch)
    try:
        hello = trainer.hello()
        has_ledger = "ledger" in getattr(hello, "capabilities", ())
        keys = train_keys(inputs, inputs.work / launch.name / "profile", updates)
        answer = trainer.ask("train", "train", context=context(threads, path if has_ledger else None), **keys)
        if not isinstance(answer.end, Done):
            raise UsageError(f"{launch.name}: {answer.end}")
        trainer.close()
    finally:
        trainer.kill()
    return ledger.read_records(path)


def rows_of(records: npt.NDArray[np.void]) -> list[Row]:
    """Rows, the longest first, from a run's records; empty when they hold no whole update that is warm."""
    spent: dict[int, list[float]] = {}
    updates = 0
    marks = np.flatnonzero(records["operation"] == _MARK)
    for mark, behind in zip(marks, np.append(marks, len(records))[1:], strict=True):
        calls = records[mark:behind]
        steps = np.flatnonzero(calls["operation"] == _ADAMW)
        if len(steps) == 0 or calls["update"][0] <= _WARM_UPDATES:
            continue
        calls = calls[: steps[-1] + 1]
        updates += 1
        waits = np.diff(calls["time_ns"].astype(np.int64)) / 1e6
        for operation, ms in zip(calls["operation"][1:], waits, strict=True):
            spent.setdefault(int(operation), []).append(float(ms))
    total = sum(map(sum, spent.values()))
    rows = [
        Row(
            operation=ledger.OPERATIONS.get(operation, f"operation {operation}"),
            part=next((part for part, numbers in _PARTS.items() if operation in numbers), _OTHER),
            calls=len(times) / updates,
            ms=sum(times) / updates,
            share=sum(times) / total if total else 0.0,
        )
        for operation, times in spent.items()
    ]
    return sorted(rows, key=lambda row: -row.ms)


def to_json(rows: list[Row], name: str, command: str) -> dict[str, Any]:
    """Milliseconds and calls are per update; shares add up to 1."""
    return {
        "profile": 1,
        "command": command,
        "implementation": name,
        "step_ms": sum(row.ms for row in rows),
        "parts_ms": {part: sum(row.ms for row in rows if row.part == part) for part in [*_PARTS, _OTHER]},
        "operations": [asdict(row) for row in rows],
    }


def _print(rows: list[Row], console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("operation", "part"):
        table.add_column(column)
    for column in ("calls", "ms", "share"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(row.operation, row.part, f"{row.calls:.0f}", f"{row.ms:.2f}", f"{row.share:.1%}")
    console.print(table)
    console.print(
        f"an update: {sum(row.ms for row in rows):.1f} ms; each call with the caller's work before it."
    )
    console.print("tape_backward is one call over all its operations; the ledger does not divide it.")
