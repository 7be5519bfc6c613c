"""`hexapla attach`: prints what the harness would do, so that a trainer runs under a debugger without it.

Separate because it starts nothing but a build. It prints a shell script: folder, the environment that
differs from the shell's own, the command line, and the requests, which lie in a file beside the run's
other files. Standard input stays open behind them, since its end would stop a training run.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

from hexapla.commands import inputs as input_words
from hexapla.commands.inputs import UsageError
from hexapla.commands.participants import launch_of
from hexapla.commands.requests import NAMED, build_one, named_request, one_binding, read_request, say
from hexapla.data.files import write_atomically
from hexapla.levels.session import ContextChoice
from hexapla.process import Launch
from hexapla.protocol import write_line
from hexapla.protocol.results import EXIT_BAD, EXIT_GOOD
from hexapla.toolchains import Places


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla attach`."""
    parser = subparsers.add_parser(
        "attach", help="print the command, environment and requests of a trainer, for a debugger"
    )
    parser.add_argument("--binding", required=True, metavar="NAME|DIR")
    parser.add_argument(
        "request", nargs="?", default="train", metavar="REQUEST",
        help=f"one of {', '.join(NAMED)} over the inputs (default train), or as for `run`",
    )  # fmt: skip
    parser.add_argument("--device", default="cpu:0", metavar="D", help="cpu:N or cuda:N")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="worker threads of the context")
    input_words.add_arguments(parser)
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="a new folder (default runs/attach-<time>)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of the script")
    parser.set_defaults(run=attach)


def attach(arguments: argparse.Namespace) -> int:
    """0, or 1 when the binding cannot be built."""
    found = one_binding(arguments.binding)
    given = None if arguments.request in NAMED else read_request(arguments.request)
    results = (arguments.results or Path("runs") / time.strftime("attach-%Y-%m-%dT%H-%M-%S")).resolve()
    if results.exists():
        raise UsageError(f"--results {results}: exists already; name a new folder")
    try:
        results.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--results {results}: {error.strerror}") from None
    if given is None:
        inputs = input_words.prepare(arguments, Places.find(), results / "work")
        choice = ContextChoice(arguments.device, arguments.threads)
        given = named_request(arguments.request, inputs, choice, results)
    built = build_one(found, results)
    if isinstance(built, str):
        say(built)
        return EXIT_BAD
    launch = launch_of(built, results)
    requests: list[dict[str, Any]] = [{"protocol": 1, "id": "hello", "request": "hello"}]
    requests += [given] if given["request"] != "hello" else []
    file = results / "requests.jsonl"
    write_atomically(file, b"".join(map(write_line, requests)))
    environment = _environment(launch)
    if arguments.json:
        words = {"directory": str(launch.directory), "argv": launch.argv, "environment": environment}
        print(json.dumps({**words, "requests": requests, "file": str(file)}, ensure_ascii=False, indent=2))
    else:
        print(_script(launch, environment, file))
    return EXIT_GOOD


def _environment(launch: Launch) -> dict[str, str]:
    """What the harness sets and the shell does not have."""
    changed = {key: text for key, text in launch.environment.items() if os.environ.get(key) != text}
    return {**changed, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"}


def _script(launch: Launch, environment: dict[str, str], file: Path) -> str:
    command, requests = shlex.join(launch.argv), shlex.quote(str(file))
    lines = [
        f"# {launch.name}: hello and one request. Run it as it stands (Ctrl-D says good-bye), or under gdb:",
        f"#   gdb -ex 'run < <(cat {requests}; sleep infinity)' --args {command}",
        f"cd {shlex.quote(str(launch.directory))}",
        *(f"export {key}={shlex.quote(text)}" for key, text in environment.items()),
        f"{{ cat {requests}; cat; }} | {command}",
    ]
    return "\n".join(lines)
