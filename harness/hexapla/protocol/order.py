"""The order of a request's events, as PROTOCOL's table gives it.

Separate from the schemas because a schema sees one message at a time, and a trainer that skips an
update or lies about its number prints only well-formed messages. Each grammar is a generator that is
sent one event after another and raises OrderError at the first one out of place. `progress` and the
ends `skipped` and `error` are legal at any time and never reach a grammar.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from hexapla.protocol.events import (
    Abi,
    Bye,
    CaseResult,
    Checkpoint,
    Data,
    Done,
    Error,
    Evaluation,
    Event,
    Hello,
    Probe,
    Progress,
    Record,
    Skipped,
    Step,
    TensorInfo,
    event_name,
)

Grammar = Generator[None, Event, None]


class OrderError(ValueError):
    """An event out of place; the text says what came and what was due."""


class Order:
    """Follows one request's events."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._grammar = _GRAMMARS[request["request"]](request)
        self._input_ended = False
        self._update = _resumed_at(request.get("resume_from"))
        next(self._grammar)

    def input_ended(self) -> None:
        """From now on a run may stop after any update, with nothing saved."""
        self._input_ended = True

    def accept(self, event: Event) -> bool:
        """Take the next event; True when it ends the request. Raises OrderError."""
        if isinstance(event, Progress):
            return False
        if isinstance(event, Skipped | Error):
            return True
        if self._input_ended and isinstance(event, Done) and event.values.get("stopped") is True:
            _counted(event, step=self._update)
            return True
        try:
            self._grammar.send(event)
        except StopIteration:
            return True
        if isinstance(event, Step):
            self._update = event.step
        return False


def _due(event: Event, *kinds: type[Event]) -> None:
    if not isinstance(event, kinds):
        due = " or ".join(kind.__name__ for kind in kinds)
        raise OrderError(f"event {event_name(event)!r} came where {due} was due")


def _one(kind: type[Event]) -> Any:
    def grammar(_request: dict[str, Any]) -> Grammar:
        _due((yield), kind)
        _due((yield), Done)

    return grammar


def _bye(_request: dict[str, Any]) -> Grammar:
    _due((yield), Bye)


def _evaluate(_request: dict[str, Any]) -> Grammar:
    event = yield
    _due(event, Evaluation)
    _numbered(event, 0)
    _due((yield), Done)


def _operators(request: dict[str, Any]) -> Grammar:
    for case in request["cases"]:
        event = yield
        _due(event, CaseResult)
        if isinstance(event, CaseResult) and event.case != case["case"]:
            raise OrderError(f"case {event.case!r} came where case {case['case']!r} was due")
    _counted((yield), cases=len(request["cases"]))


def _load(_request: dict[str, Any]) -> Grammar:
    names: list[str] = []
    while True:
        event = yield
        if isinstance(event, Done):
            _counted(event, tensors=len(names))
            return
        _due(event, TensorInfo)
        if isinstance(event, TensorInfo):
            if names and event.name.encode() <= names[-1].encode():
                raise OrderError(
                    f"tensor {event.name!r} came after {names[-1]!r}; names come sorted by their bytes"
                )
            names.append(event.name)


def _render(_request: dict[str, Any]) -> Grammar:
    accepted = 0
    while True:
        event = yield
        if isinstance(event, Done):
            _counted(event, accepted=accepted)
            return
        _due(event, Record)
        if isinstance(event, Record) and event.rejected is None:
            accepted += 1


def _train(request: dict[str, Any]) -> Grammar:
    spec = request["spec"]
    last = spec["updates"]
    stop = request["stop_after"] or last
    _due((yield), Data)
    start = _resumed_at(request["resume_from"])
    if request["resume_from"] is None:
        event = yield
        _due(event, Evaluation)
        _numbered(event, 0)
    update = start
    while update < stop:
        update += 1
        event = yield
        _due(event, Step)
        _numbered(event, update)
        if update % spec["evaluate_every"] == 0 or update == last:
            event = yield
            _due(event, Evaluation)
            _numbered(event, update)
        if update % spec["save_every"] == 0 or update in (last, stop):
            event = yield
            _due(event, Checkpoint)
            _numbered(event, update)
    _counted((yield), step=update, stopped=update < last)


def _resumed_at(folder: str | None) -> int:
    if folder is None:
        return 0
    match = re.search(r"checkpoint-(\d{6,})/?$", folder)
    if match is None:
        raise OrderError(f"resume_from {folder} is not named checkpoint-<update>")
    return int(match.group(1))


def _numbered(event: Event, update: int) -> None:
    step = getattr(event, "step", None)
    if step != update:
        raise OrderError(f"event {event_name(event)!r} says step {step} where step {update} was due")


def _counted(event: Event, **values: int) -> None:
    _due(event, Done)
    if isinstance(event, Done):
        for key, value in values.items():
            if event.values[key] != value:
                raise OrderError(f"done says {key} {event.values[key]}, its events say {value}")


_GRAMMARS = {
    "hello": _one(Hello),
    "abi": _one(Abi),
    "probe": _one(Probe),
    "evaluate": _evaluate,
    "operators": _operators,
    "load": _load,
    "render": _render,
    "train": _train,
    "bye": _bye,
}
