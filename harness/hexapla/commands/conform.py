"""`hexapla conform`: build the implementations, ask them, judge them, leave results, print the table.

Separate from the levels, which it only puts in order, and from the parser, which only calls it.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import time
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hexapla.commands import inputs as input_words
from hexapla.commands.inputs import UsageError
from hexapla.commands.participants import Found, Preparation, find
from hexapla.commands.show import Show
from hexapla.levels import all_levels
from hexapla.levels.level import Inputs
from hexapla.levels.run import Hooks, Participant, Run
from hexapla.levels.session import ContextChoice, HelloFailed, RequestSkipped
from hexapla.protocol import LEVELS
from hexapla.protocol.results import RESULTS_FILE, Header, Line, ResultsWriter
from hexapla.report.terminal import print_report
from hexapla.report.write import write_reports
from hexapla.toolchains import Places

_PACKAGES = (
    "hexapla",
    "numpy",
    "torch",
    "transformers",
    "peft",
    "tokenizers",
    "safetensors",
    "scipy-openblas32",
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla conform`."""
    parser = subparsers.add_parser("conform", help="run the levels over the implementations and compare them")
    parser.add_argument(
        "--binding", action="append", default=[], metavar="NAME|PATH", help="only this one (repeatable)"
    )
    parser.add_argument(
        "--level", action="append", default=[], choices=LEVELS, help="only this one (repeatable)"
    )
    parser.add_argument("--references", default="all", choices=("all", "torch", "oracle", "none"))
    parser.add_argument("--device", default="cpu:0", metavar="D", help="cpu:N or cuda:N")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="worker threads of a context")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="implementations asked at once")
    input_words.add_arguments(parser)
    parser.add_argument("--results", type=Path, metavar="DIR", help="where results go (default runs/<time>)")
    parser.add_argument("--strict", action="store_true", help="a skipped level fails the run")
    parser.add_argument("--list", action="store_true", help="print implementations and levels, run nothing")
    parser.set_defaults(run=conform)


def conform(arguments: argparse.Namespace) -> int:
    """Exit status as in PROTOCOL, "Results"."""
    places = Places.find()
    found = find(arguments.binding, places, arguments.references)
    if not found:
        raise UsageError("no implementation to run")
    if arguments.list:
        return _list(found)
    if arguments.threads < 1:
        raise UsageError(f"--threads {arguments.threads}: must be at least 1")
    started = time.monotonic()
    now = datetime.now(UTC)
    results = (arguments.results or Path("runs") / now.strftime("%Y-%m-%dT%H-%M-%S")).resolve()
    if (results / RESULTS_FILE).exists():
        raise UsageError(f"--results {results}: holds results already; name a new folder")
    try:
        results.mkdir(parents=True, exist_ok=True)
        inputs = input_words.prepare(arguments, places, results / "work")
    except OSError as error:
        raise UsageError(f"--results {results}: {error.strerror}") from None
    show = Show()
    choice = ContextChoice(arguments.device, arguments.threads)
    preparation = Preparation(places, results, choice, show.say, show.event)
    participants = [preparation.prepare(each) for each in found]
    inputs = replace(inputs, c_compiler=preparation.c_compiler())
    header = _header(arguments, inputs, participants, now)
    levels = [level for level in all_levels() if not arguments.level or level.name in arguments.level]
    with ResultsWriter(results, header) as writer, show:

        def keep(line: Line) -> None:
            writer.write(line)
            show.line(line)

        run = Run(
            participants,
            inputs,
            Hooks(keep, show.begin, show.end),
            lambda name, level: _repeat(arguments, found, name, level),
            arguments.jobs or max(1, min(2, (os.cpu_count() or 1) // arguments.threads)),
        )
        run.go_through(levels)
        footer = writer.finish(round(time.monotonic() - started, 3))
    print_report(write_reports(results, strict=arguments.strict), show.console)
    show.say(f"results: {results}")
    return footer.exit_status


def _list(found: list[Found]) -> int:
    for each in found:
        manifest = each.manifest
        words = f"{manifest.stack:6} {manifest.language}" if manifest else f"bad manifest: {each.problem}"
        print(f"{each.name:10} {words}")
    print("levels: " + " ".join(level.name for level in all_levels()))
    return 0


def _header(
    arguments: argparse.Namespace, inputs: Inputs, participants: list[Participant], now: datetime
) -> Header:
    implementations: dict[str, dict[str, str]] = {}
    for participant in participants:
        said = {"stack": participant.stack}
        if participant.session is not None:
            try:
                hello = participant.session.greet()
                said |= {"language": hello.language, "runtime": hello.runtime, "core": hello.core or ""}
            except (RequestSkipped, HelloFailed):
                pass  # the first level meets the same and has the words for it
        implementations[participant.name] = said
    return Header(
        versions={"python": platform.python_version(), **_versions()},
        spec_digest=inputs.spec.digest,
        machine={
            "system": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count() or 0,
        },
        seed=int(inputs.spec["seed"]),
        command=shlex.join(["hexapla", *arguments.words]),
        started=now.isoformat(timespec="seconds"),
        strict=arguments.strict,
        implementations=implementations,
    )


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _repeat(arguments: argparse.Namespace, found: list[Found], name: str, level: str) -> str:
    """The command that reruns just one implementation at one level, on the same inputs."""
    folder = next(each.folder for each in found if each.name == name)
    own = name in {each.name for each in find([], Places.find(), "all")}
    words = ["hexapla", "conform", "--binding", name if own else str(folder.resolve()), "--level", level]
    for word in ("spec", "corpus", "tokenizer", "model", "device", "threads", "references"):
        value = getattr(arguments, word)
        default = {"spec": "tiny", "device": "cpu:0", "threads": 1, "references": "all"}.get(word)
        if value is not None and value != default:
            words += [f"--{word}", str(value)]
    return shlex.join(words)
