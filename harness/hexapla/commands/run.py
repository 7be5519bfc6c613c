"""`hexapla run --binding DIR REQUEST`: one request to one implementation, its raw events on stdout.

Separate because it judges nothing: what comes back is printed as it came. REQUEST is a JSON object, or
`@FILE` with one; `protocol` and `id` are filled in when they are not given.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from hexapla.commands.inputs import UsageError
from hexapla.commands.participants import Preparation, find, launch_of
from hexapla.levels.session import ContextChoice
from hexapla.process import Trainer, TrainerFailure
from hexapla.protocol import Error, LineError, SchemaError, parse_object
from hexapla.toolchains import BuildError, Places, ToolchainMissing, build_binding


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla run`."""
    parser = subparsers.add_parser("run", help="send one request to one implementation and print its events")
    parser.add_argument("--binding", required=True, metavar="NAME|DIR")
    parser.add_argument("request", metavar="REQUEST", help="a JSON object, or @FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0 when the request ended in done or skipped, 1 when it did not."""
    message = _message(arguments.request)
    [found] = find([arguments.binding], Places.find(), "none")
    if found.manifest is None:
        raise UsageError(found.problem)
    with tempfile.TemporaryDirectory(prefix="hexapla-run-") as folder:
        results = Path(folder)
        preparation = Preparation(
            Places.find(), results, ContextChoice("cpu:0", 1), _say, lambda _name, _event: None
        )
        try:
            core = preparation.built_core() if found.manifest.needs_core else None
            built = build_binding(found.manifest, Places.find(), core)
            trainer = Trainer(launch_of(built, results))
        except (BuildError, ToolchainMissing, TrainerFailure) as error:
            _say(f"{found.name}: {error}")
            return 1
        request, request_id = message.pop("request"), message.pop("id", "run")
        message.pop("protocol", None)
        try:
            answer = trainer.ask(request, request_id, **message)
            if request != "bye":
                trainer.close()
        except SchemaError as error:
            raise UsageError(f"REQUEST: {error}") from None
        except TrainerFailure as failure:
            _say(f"{found.name}: {failure}")
            return 1
        finally:
            trainer.kill()
            for path in (results / "events" / found.name).glob(f"{request_id}.jsonl"):
                sys.stdout.write(path.read_text("utf-8"))
            log = results / "stderr" / f"{found.name}.log"
            sys.stderr.write(log.read_text("utf-8", "replace") if log.exists() else "")
        return 1 if isinstance(answer.end, Error) else 0


def _message(words: str) -> dict[str, Any]:
    try:
        raw = Path(words[1:]).read_bytes() if words.startswith("@") else words.encode()
        message = parse_object(raw)
    except OSError as error:
        raise UsageError(f"REQUEST {words}: {error.strerror}") from None
    except LineError as error:
        raise UsageError(f"REQUEST: {error}") from None
    if not isinstance(message.get("request"), str):
        raise UsageError("REQUEST: no string `request`")
    return message


def _say(text: str) -> None:
    print(text, file=sys.stderr)
