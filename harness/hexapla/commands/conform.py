"""`hexapla conform`: build the implementations, ask them, judge them, leave results, print the table.

Separate from the levels, which it only puts in order, and from the parser, which only calls it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import time
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hexapla.commands import inputs as input_words
from hexapla.commands.inputs import UnfinishedError, UsageError
from hexapla.commands.memory_plan import planned_use
from hexapla.commands.participants import Found, Preparation, find
from hexapla.commands.show import Show
from hexapla.faults import NO_FAULT, core_faults
from hexapla.levels import all_levels
from hexapla.levels.level import Inputs
from hexapla.levels.run import Hooks, Participant, Run
from hexapla.levels.session import ContextChoice, HelloFailed, RequestSkipped
from hexapla.protocol import LEVELS
from hexapla.protocol.results import RESULTS_FILE, Header, Line, ResultsError, ResultsWriter
from hexapla.report.model import Report
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
    add_run_arguments(parser)
    parser.add_argument(
        "--level", action="append", default=[], choices=LEVELS, help="only this one (repeatable)"
    )
    parser.add_argument("--list", action="store_true", help="print implementations and levels, run nothing")
    parser.set_defaults(run=conform)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of every command that runs levels."""
    parser.add_argument(
        "--binding", action="append", default=[], metavar="NAME|PATH", help="only this one (repeatable)"
    )
    parser.add_argument("--references", default="all", choices=("all", "torch", "oracle", "none"))
    parser.add_argument("--device", default="cpu:0", metavar="D", help="cpu:N or cuda:N")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="worker threads of a context")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="implementations asked at once")
    input_words.add_arguments(parser)
    parser.add_argument(
        "--core-fault",
        default="",
        metavar="NAME",
        help="build a core that can be made wrong, and run it with this fault on ('none': with no fault)",
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="where results go (default runs/<time>)")
    parser.add_argument("--strict", action="store_true", help="a skipped level fails the run")
    parser.add_argument("--json", action="store_true", help="print one JSON object; progress goes to stderr")


def conform(arguments: argparse.Namespace) -> int:
    """Exit status as in PROTOCOL, "Results"."""
    if arguments.list:
        return _list(_found(arguments), arguments.json)
    show = Show(to_stderr=arguments.json)
    report = conduct(arguments, show)
    if arguments.json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2))
    else:
        print_report(report, show.console)
    show.say(f"results: {report.folder}")
    return report.exit_status


def conduct(arguments: argparse.Namespace, show: Show) -> Report:
    """Run the levels asked for; the reports are written, even of a run that breaks off.

    Raises UsageError before anything was started, UnfinishedError when the machine ends the run.
    """
    found = _found(arguments)
    places = Places.find()
    _check_fault(arguments.core_fault)
    if arguments.threads < 1:
        raise UsageError(f"--threads {arguments.threads}: must be at least 1")
    now = datetime.now(UTC)
    results = (arguments.results or Path("runs") / now.strftime("%Y-%m-%dT%H-%M-%S")).resolve()
    if (results / RESULTS_FILE).exists():
        raise UsageError(f"--results {results}: holds results already; name a new folder")
    try:
        results.mkdir(parents=True, exist_ok=True)
        inputs = input_words.prepare(arguments, places, results / "work")
    except OSError as error:
        raise UsageError(f"--results {results}: {error.strerror}") from None
    choice = ContextChoice(arguments.device, arguments.threads)
    for words in planned_use(arguments.device, inputs, _jobs(arguments, found)).lines():
        show.say(words)
    preparation = Preparation(places, results, choice, show.say, show.event, arguments.core_fault)
    try:
        _run(arguments, found, inputs, preparation, show)
        return write_reports(results, strict=arguments.strict)
    except BaseException as error:
        with contextlib.suppress(OSError, ResultsError):
            write_reports(results, strict=arguments.strict)
        if isinstance(error, OSError):
            raise UnfinishedError(
                f"{error.filename or results}: {error.strerror}; what was known is kept in {results}"
            ) from None
        raise


def _jobs(arguments: argparse.Namespace, found: list[Found]) -> int:
    """How many implementations are asked at once."""
    chosen = arguments.jobs or max(1, min(2, (os.cpu_count() or 1) // arguments.threads))
    return int(min(chosen, len(found)))


def _check_fault(name: str) -> None:
    known = core_faults()
    if name and name != NO_FAULT and name not in known:
        raise UsageError(f"--core-fault {name}: no such fault; known are {NO_FAULT}, {', '.join(known)}")


def _found(arguments: argparse.Namespace) -> list[Found]:
    found = find(arguments.binding, Places.find(), arguments.references)
    if not found:
        raise UsageError("no implementation to run")
    return found


def _run(
    arguments: argparse.Namespace, found: list[Found], inputs: Inputs, preparation: Preparation, show: Show
) -> None:
    started, now = time.monotonic(), datetime.now(UTC)
    participants = [preparation.prepare(each) for each in found]
    inputs = replace(inputs, c_compiler=preparation.c_compiler())
    levels = [level for level in all_levels() if not arguments.level or level.name in arguments.level]
    try:
        header = _header(arguments, inputs, participants, now)
        with ResultsWriter(preparation.results, header) as writer, show:

            def keep(line: Line) -> None:
                writer.write(line)
                show.line(line)

            run = Run(
                participants,
                inputs,
                Hooks(keep, show.begin, show.end),
                lambda name, level: _repeat(arguments, found, name, level),
                _jobs(arguments, found),
            )
            run.go_through(levels)
            writer.finish(round(time.monotonic() - started, 3))
    finally:
        for participant in participants:
            if participant.session is not None:
                participant.session.abandon()


def _list(found: list[Found], as_object: bool) -> int:
    levels = [level.name for level in all_levels()]
    if as_object:
        implementations = [
            {
                "name": each.name,
                "folder": str(each.folder),
                "stack": each.manifest.stack if each.manifest else None,
                "language": each.manifest.language if each.manifest else None,
                "problem": each.problem,
            }
            for each in found
        ]
        print(json.dumps({"implementations": implementations, "levels": levels}, indent=2))
        return 0
    for each in found:
        manifest = each.manifest
        words = f"{manifest.stack:6} {manifest.language}" if manifest else f"bad manifest: {each.problem}"
        print(f"{each.name:10} {words}")
    print("levels: " + " ".join(levels))
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
        core_fault=arguments.core_fault,
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
    beside = next(each.beside for each in all_levels() if each.name == level)
    words = ["hexapla", "conform", "--binding", name if own else str(folder.resolve())]
    words += [word for other in beside if other != name for word in ("--binding", other)]
    words += ["--level", level]
    for word in ("spec", "corpus", "tokenizer", "model", "device", "threads", "references", "core_fault"):
        value = getattr(arguments, word)
        default = {
            "spec": "tiny",
            "device": "cpu:0",
            "threads": 1,
            "references": "all",
            "core_fault": "",
        }.get(word)
        if value is not None and value != default:
            words += [f"--{word.replace('_', '-')}", str(value)]
    return shlex.join(words)
