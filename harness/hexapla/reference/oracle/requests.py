"""The keys of every request, and reading requests from stdin.

Apart from the main loop because the table is the protocol's, and because stdin is read by a thread of its
own: a run must notice that stdin has ended while it computes.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from dataclasses import dataclass

from . import fields
from .failure import Failure, Skipped
from .strict_json import Json, parse

LINE_BYTES_MAX = 16 * 2**20

_CONTEXT: dict[str, fields.Kind] = {
    "device": fields.string,
    "threads": fields.integer(1),
    "memory_limit": fields.integer(0),
    "spill": fields.boolean,
    "ledger": fields.nullable(fields.path),
}
REQUESTS: dict[str, dict[str, fields.Kind]] = {
    "hello": {},
    "abi": {},
    "operators": {
        "cases": fields.a_list,
        "file": fields.path,
        "output": fields.path,
        "context": fields.an_object,
    },
    "load": {"model": fields.path, "context": fields.an_object},
    "render": {
        "tokenizer": fields.path,
        "records": fields.path,
        "template": fields.choice("qwen3", "chatml"),
        "length": fields.integer(2),
    },
    "evaluate": {
        "spec": fields.an_object,
        "model": fields.path,
        "tokenizer": fields.path,
        "heldout": fields.path,
        "adapter": fields.nullable(fields.path),
        "context": fields.an_object,
    },
    "train": {
        "spec": fields.an_object,
        "spec_digest": fields.string,
        "model": fields.path,
        "tokenizer": fields.path,
        "train": fields.path,
        "heldout": fields.path,
        "adapter": fields.path,
        "output": fields.path,
        "resume_from": fields.nullable(fields.path),
        "stop_after": fields.nullable(fields.integer(-fields.INTEGER_LIMIT + 1)),
        "schedule": fields.choice("pinned", "migrating"),
        "release": fields.choice("explicit", "collector"),
        "context": fields.an_object,
    },
    "probe": {"scenario": fields.string, "parameters": fields.an_object},
    "bye": {},
}


@dataclass(frozen=True)
class Request:
    """A request whose line could be read; `keys` holds all of its keys, unchecked."""

    id: str
    name: str
    keys: dict[str, Json]

    def check(self) -> None:
        """Raise Failure (`request`) for a key that is missing, unknown or out of range; Skipped for another
        request."""
        if self.keys.get("protocol") != 1 or isinstance(self.keys.get("protocol"), bool):
            raise Failure(
                "request", f"protocol is {self.keys.get('protocol')}, the oracle speaks 1", "protocol"
            )
        if self.name not in REQUESTS:
            raise Skipped(f"the oracle does not know the request {self.name}")
        kinds = {
            "protocol": fields.anything,
            "id": fields.string,
            "request": fields.string,
            **REQUESTS[self.name],
        }
        fields.check(self.keys, kinds, "request", self.name)
        if "context" in kinds:
            check_context(self.keys["context"])


def context_threads(keys: dict[str, Json]) -> int:
    """The thread count of a checked request's context."""
    context = keys["context"]
    assert isinstance(context, dict)
    return int(str(context["threads"]))


def check_context(found: Json) -> None:
    """Check a context's keys; what only core can do is Skipped, not passed over."""
    context = fields.check(found, _CONTEXT, "request", "context")
    if not re.fullmatch("cpu:[0-9]+", str(context["device"])):
        raise Skipped(f"NumPy computes on the cpu only, not on {context['device']}")
    for key in ("memory_limit", "spill", "ledger"):
        if context[key]:
            raise Skipped(f"{key} is kept by core, which the oracle does not have")


def read_request(line: bytes, number: int) -> Request:
    """Read one line of stdin; raises Failure (`request`) for what is no request at all."""
    where = f"stdin:{number}"
    try:
        if len(line) > LINE_BYTES_MAX:
            raise ValueError(f"the line is longer than {LINE_BYTES_MAX} bytes")
        found = parse(line)
        if not isinstance(found, dict):
            raise ValueError("a request must be an object")
        for key in ("id", "request"):
            if not isinstance(found.get(key), str):
                raise ValueError(f"the key {key} is missing or no string")
    except ValueError as error:
        raise Failure("request", f"{where}: {error}", where) from error
    return Request(str(found["id"]), str(found["request"]), found)


class RequestLines:
    """Lines of stdin, without their `\\n`, read ahead by a thread; a line too long is cut one byte past the
    limit.

    The descriptor is read directly: a thread that waits inside Python's buffered stdin would abort the
    interpreter's exit.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def ended(self) -> bool:
        """Whether stdin has reached its end, whatever lines still wait."""
        return self._ended.is_set()

    def next(self) -> bytes | None:
        """The next line, or None at the end."""
        return self._lines.get()

    def _read(self) -> None:
        pending = bytearray()
        while block := self._block():
            *whole, rest = block.split(b"\n")
            for piece in whole:
                self._extend(pending, piece)
                self._lines.put(bytes(pending))
                pending.clear()
            self._extend(pending, rest)
        self._ended.set()
        if pending:
            self._lines.put(bytes(pending))
        self._lines.put(None)

    def _block(self) -> bytes:
        try:
            return os.read(self._descriptor, 2**16)
        except OSError:
            return b""  # whoever spoke is gone: the same as an end

    @staticmethod
    def _extend(pending: bytearray, piece: bytes) -> None:
        pending += piece[: LINE_BYTES_MAX + 1 - len(pending)]
