"""The trainer's loop: one request after the other, each answered to its end; then `bye` and the exit
status. It knows no stage from inside.
"""

from __future__ import annotations

import gc
import os
import platform
import sys
import traceback
from collections.abc import Callable
from typing import Any

from hexapla_native import build_faults, build_info, process_memory

from hexapla_native_trainer.evaluate import answer_evaluate
from hexapla_native_trainer.events import Events
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.load import answer_load
from hexapla_native_trainer.operators import answer_operators
from hexapla_native_trainer.probes import SCENARIOS, answer_probe
from hexapla_native_trainer.refusal import Refusal, Skip
from hexapla_native_trainer.render import answer_render
from hexapla_native_trainer.requests import Requests, Unreadable
from hexapla_native_trainer.train import answer_train

PROTOCOL = 1
NO_LAYOUT = "native calls core's C++ objects: no C struct, handle or constant is seen from Python"
FEATURES = ("migrating", "collector", "spill", "memory_limit", "ledger")


def main() -> int:
    requests = Requests()
    status = 0
    while True:
        try:
            request = requests.next()
        except Unreadable as error:
            Events("").send("error", status="request", message=str(error), where=str(error).split(":")[0])
            status = max(status, 2)
            continue
        request_id = request["id"] if request else ""
        if request is None or request.get("request") == "bye":
            problem = _refusal_of_bye(request)
            if problem is None:
                return say_bye(Events(request_id), status)
            _send_error(Events(request_id), problem)
            status = max(status, 1)
            continue
        status = max(status, answer(request, Events(request_id), requests))


def answer(request: dict[str, Any], events: Events, requests: Requests) -> int:
    """One request to its last event; the exit status that it asks for."""
    try:
        _answer(request, events, requests)
        return 0
    except Skip as skip:
        events.send("skipped", reason=str(skip))
        return 0
    except Refusal as refusal:
        _send_error(events, refusal)
    except Exception as error:  # the trainer stays alive, whatever a request met
        traceback.print_exc()
        _send_error(
            events, Refusal("internal", f"{type(error).__name__}: {error}", request.get("request", ""))
        )
    return 1


def _answer(request: dict[str, Any], events: Events, requests: Requests) -> None:
    fields, name = _opened(request)
    stages: dict[str, Callable[[], None]] = {
        "hello": lambda: _hello(fields, events),
        "abi": lambda: _abi(fields),
        "operators": lambda: answer_operators(fields, events),
        "load": lambda: answer_load(fields, events),
        "render": lambda: answer_render(fields, events),
        "evaluate": lambda: answer_evaluate(fields, events),
        "train": lambda: answer_train(fields, events, requests.ended),
        "probe": lambda: answer_probe(fields, events),
    }
    if name not in stages:
        raise Skip(f"request {name!r:.80} is unknown here")
    stages[name]()


def _opened(request: dict[str, Any]) -> tuple[Fields, str]:
    fields = Fields(request, "request")
    fields.string("id")
    fields.integer("protocol", PROTOCOL, PROTOCOL)
    return fields, fields.string("request")


def _refusal_of_bye(request: dict[str, Any] | None) -> Refusal | None:
    if request is None:
        return None
    try:
        _opened(request)[0].end()
    except Refusal as refusal:
        return refusal
    return None


def _hello(fields: Fields, events: Events) -> None:
    fields.end()
    requests = ["hello", "operators", "load", "render", "evaluate", "train", "probe", "bye"]
    events.send(
        "hello",
        protocol=PROTOCOL,
        implementation="native",
        language="Python",
        runtime=f"{platform.python_implementation()} {platform.python_version()}",
        stack="core",
        core=build_info(),
        faults=[name for name in build_faults().split(",") if name],
        capabilities=[*requests, *(f"probe.{name}" for name in SCENARIOS), *FEATURES],
    )
    events.send("done")


def _abi(fields: Fields) -> None:
    fields.end()
    raise Skip(NO_LAYOUT)


def _send_error(events: Events, refusal: Refusal) -> None:
    events.send("error", status=refusal.status, message=refusal.message, where=refusal.where)


def say_bye(events: Events, status: int) -> int:
    gc.collect()  # a traceback that lived in a cycle may still hold what it names
    memory = process_memory()
    events.send("bye", handles_live=memory.live_handles, bytes_live=memory.live_bytes)
    return 3 if memory.live_handles else status


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # The thread that reads stdin may sit in a read: the interpreter would wait for its lock on stdin.
    os._exit(code)
