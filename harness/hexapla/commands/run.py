"""`hexapla run --binding DIR REQUEST`: one request to one implementation, its raw events on stdout.

Separate because it judges nothing: what comes back is printed as it came. With --json it is one object:
the events, the failure where there is one, the end of stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hexapla.commands.participants import launch_of
from hexapla.commands.requests import build_one, one_binding, read_request, say
from hexapla.process import Launch, Trainer, TrainerFailure
from hexapla.protocol import Error
from hexapla.protocol.results import EXIT_BAD, EXIT_GOOD


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla run`."""
    parser = subparsers.add_parser("run", help="send one request to one implementation and print its events")
    parser.add_argument("--binding", required=True, metavar="NAME|DIR")
    parser.add_argument("request", metavar="REQUEST", help="a JSON object, @FILE, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of raw events")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 when the request ended in done or skipped, 1 when it did not, 2 when it cannot be sent."""
    message = read_request(arguments.request)
    found = one_binding(arguments.binding)
    with tempfile.TemporaryDirectory(prefix="hexapla-run-") as folder:
        built = build_one(found, Path(folder))
        if isinstance(built, str):
            say(built)
            return EXIT_BAD
        launch = launch_of(built, Path(folder))
        failure, status = _ask(launch, message)
        events = launch.events_folder / f"{message['id']}.jsonl"
        raw = events.read_bytes() if events.exists() else b""
        stderr = launch.stderr_path.read_text("utf-8", "replace") if launch.stderr_path.exists() else ""
    if arguments.json:
        print(json.dumps(_object(raw, failure, stderr), ensure_ascii=False, indent=2))
    else:
        sys.stderr.write(stderr)
        sys.stdout.write(raw.decode("utf-8", "replace"))
        if failure is not None:
            say(f"{found.name}: {failure}")
    return status


def _ask(launch: Launch, message: dict[str, Any]) -> tuple[TrainerFailure | None, int]:
    keys = {key: value for key, value in message.items() if key not in ("protocol", "id", "request")}
    try:
        trainer = Trainer(launch)
    except TrainerFailure as failure:
        return failure, EXIT_BAD
    try:
        answer = trainer.ask(message["request"], message["id"], **keys)
        if message["request"] != "bye":
            trainer.close()
    except TrainerFailure as failure:
        return failure, EXIT_BAD
    finally:
        trainer.kill()
    return None, EXIT_BAD if isinstance(answer.end, Error) else EXIT_GOOD


def _object(raw: bytes, failure: TrainerFailure | None, stderr: str) -> dict[str, Any]:
    events = []
    for line in raw.splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            events.append(line.decode("utf-8", "replace"))
    said = {"reason": failure.reason.value, "detail": failure.detail} if failure is not None else None
    return {"events": events, "failure": said, "stderr": stderr}
