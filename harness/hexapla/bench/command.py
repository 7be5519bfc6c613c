"""`hexapla bench`: interleaved rounds over the implementations, a table, and JSON.

Separate from what is measured and from the figures. In every round each implementation runs once, alone, in
a fresh process; the order turns by one from round to round, so that whatever drifts meets all alike. It
claims nothing on a busy machine, and says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from hexapla.bench.calls import call_ns
from hexapla.bench.figures import Middle, middle
from hexapla.bench.results import Bench, to_json
from hexapla.bench.sample import Unmeasured, measure
from hexapla.commands import inputs as input_words
from hexapla.commands.inputs import UsageError
from hexapla.commands.participants import Preparation, find, launch_of
from hexapla.data.files import write_atomically
from hexapla.levels.level import Inputs
from hexapla.levels.session import ContextChoice
from hexapla.process import Launch, TrainerFailure
from hexapla.toolchains import BuildError, Places, ToolchainMissing, build_binding

_UPDATES = {"tiny": 12, "micro": 6}
_PACKAGES = ("hexapla", "numpy", "torch", "transformers", "peft", "scipy-openblas32")
_ACTIVE = "torch-active"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla bench`."""
    parser = subparsers.add_parser("bench", help="measure step times, wall times and the cost of a call")
    parser.add_argument("--shape", default="tiny", choices=tuple(_UPDATES), help="the spec and its records")
    parser.add_argument(
        "--binding", action="append", default=[], metavar="NAME|PATH", help="only this one (repeatable)"
    )
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="interleaved rounds (default 7)")
    parser.add_argument("--updates", type=int, metavar="N", help="updates a run (default 12; micro 6)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="worker threads of a context")
    parser.add_argument(
        "--calls", type=int, default=20000, metavar="N", help="turns of the call probe; 0: none"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0: measured (noisy or not); 1: an implementation was there but gave no figures."""
    load = os.getloadavg()[0]
    started = datetime.now(UTC).isoformat(timespec="seconds")
    updates = _UPDATES[arguments.shape] if arguments.updates is None else arguments.updates
    for word, value, least in (("rounds", arguments.rounds, 1), ("updates", updates, 2)):
        if value < least:
            raise UsageError(f"--{word} {value}: must be at least {least}")
    if arguments.threads < 1 or arguments.calls < 0:
        raise UsageError("--threads must be at least 1 and --calls at least 0")
    if arguments.json is not None and not arguments.json.resolve().parent.is_dir():
        raise UsageError(f"--json {arguments.json}: its folder does not exist")
    console = Console(highlight=False, soft_wrap=True)
    bench = Bench(arguments.shape, updates, arguments.threads, arguments.rounds, load)
    with tempfile.TemporaryDirectory(prefix="hexapla-bench-") as folder:
        work = Path(folder)
        launches = _launches(arguments, work, bench, console)
        _rounds(bench, launches, _inputs(arguments, work), console)
        _write(arguments, bench, started)  # whoever ends it during the calls keeps the rounds
        if arguments.calls:
            _calls(bench, launches, arguments.calls, console)
    print_bench(bench, console)
    _write(arguments, bench, started)
    return 1 if bench.failed else 0


def _write(arguments: argparse.Namespace, bench: Bench, started: str) -> None:
    if arguments.json is not None:
        document = to_json(bench, shlex.join(["hexapla", *arguments.words]), _versions(), started)
        write_atomically(arguments.json, (json.dumps(document, indent=2) + "\n").encode())


def _inputs(arguments: argparse.Namespace, work: Path) -> Inputs:
    words = argparse.Namespace(spec=arguments.shape, corpus=None, tokenizer=None, model=None)
    inputs = input_words.prepare(words, Places.find(), work)
    if int(inputs.spec["updates"]) < (arguments.updates or 0):
        raise UsageError(f"--updates {arguments.updates}: the spec has {inputs.spec['updates']}")
    return inputs


def _launches(arguments: argparse.Namespace, work: Path, bench: Bench, console: Console) -> dict[str, Launch]:
    """Built implementations by name; torch also with threads that spin at barriers, its own default.

    The torch trainer asks OpenMP for threads that sleep, which a shared machine needs. On a quiet machine
    spinning ones may be faster, and a comparison must not lean on a handicap. On a busy one they are left
    out: beside other work a step took 26 s with spinning threads and 1.2 s with sleeping ones.
    """
    places = Places.find()
    choice = ContextChoice("cpu:0", arguments.threads)
    preparation = Preparation(places, work, choice, console.print, lambda _name, _event: None)
    launches: dict[str, Launch] = {}
    for found in find(arguments.binding, places, "all" if not arguments.binding else "none"):
        try:
            if found.manifest is None:
                raise Unmeasured(f"bad manifest: {found.problem}")
            if found.name == "oracle" and not arguments.binding:
                continue  # float64 by hand: minutes a run, and nobody asks how fast
            core = preparation.built_core() if found.manifest.needs_core else None
            launches[found.name] = launch_of(build_binding(found.manifest, places, core), work)
        except ToolchainMissing as missing:
            console.print(f"{found.name}: skipped: {missing}", markup=False)
        except (BuildError, Unmeasured) as error:
            bench.failed[found.name] = str(error)
    if "torch" in launches and bench.noisy:
        console.print(f"{_ACTIVE}: left out: {bench.noisy}", markup=False)
    elif "torch" in launches:
        torch = launches["torch"]
        active = {**torch.environment, "OMP_WAIT_POLICY": "ACTIVE"}
        launches[_ACTIVE] = replace(torch, name=_ACTIVE, environment=active)
    if not launches:
        raise UsageError("no implementation to measure")
    return launches


def _rounds(bench: Bench, launches: dict[str, Launch], inputs: Inputs, console: Console) -> None:
    names = list(launches)
    for number in range(bench.rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            if name in bench.failed:
                continue
            try:
                sample = measure(launches[name], inputs, bench.updates, bench.threads)
            except (TrainerFailure, Unmeasured) as failure:
                bench.failed[name] = str(failure)
                bench.samples.pop(name, None)
                continue
            bench.samples.setdefault(name, []).append(sample)
            words = f"round {number + 1}/{bench.rounds}: {name}: {sample.step_ms_median:.1f} ms a step"
            console.print(f"{words}, {sample.wall_s:.2f} s", markup=False)


def _calls(bench: Bench, launches: dict[str, Launch], turns: int, console: Console) -> None:
    """Only who can do the probe; for the others the figure is absent, which is no failure."""
    for name, launch in launches.items():
        if name in bench.failed or name == _ACTIVE:
            continue
        try:
            bench.calls[name] = call_ns(launch, turns, bench.rounds)
        except Unmeasured as reason:
            console.print(f"call_ns: {name}: none: {reason}", markup=False)
        except TrainerFailure as failure:
            bench.failed[name] = f"call_ns: {failure}"


def print_bench(bench: Bench, console: Console) -> None:
    """The table, the ratio, and whether they may be quoted."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("implementation")
    for column in ("step ms", "95 %", "cpu ms/step", "wall / c", "95 %", "ns/call"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, samples in bench.samples.items():
        cpu = [sample.cpu_ms for sample in samples if sample.cpu_ms is not None]
        steps, wall = middle(bench.steps(name)), bench.wall_ratio(name)
        table.add_row(
            *(name, f"{steps.median:.1f}", _interval(steps, 1), f"{middle(cpu).median:.0f}" if cpu else "–"),
            *((f"{wall.median:.3f}", _interval(wall, 3)) if wall else ("–", "–")),
            f"{bench.calls[name].median:.0f}" if name in bench.calls else "–",
        )
    console.print(table)
    for name, reason in bench.failed.items():
        console.print(f"{name}: no figures: {reason}", markup=False)
    speed = bench.speed_ratio()
    doubt = bench.claims
    if speed is not None:
        variant, ratio = speed
        words = f"core's step is {ratio.median:.2f} times as fast as {variant}'s ({_interval(ratio, 2)})"
        console.print(f"measured, not claimed: {words}" if doubt else words)
    console.print(f"no claim: {doubt}" if doubt else "The machine was quiet.")


def _interval(value: Middle, digits: int) -> str:
    if value.low is None or value.high is None:
        return f"too few ({value.count})"
    return f"{value.low:.{digits}f}–{value.high:.{digits}f}"


def _versions() -> dict[str, Any]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions
