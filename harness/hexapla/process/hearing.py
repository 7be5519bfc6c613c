"""What a trainer says: lines kept as they came, held to the schema and the order, given out as events.

Separate from the process that says it: here is only whether a word was asked for and whether it fits, never
how the trainer lives, dies or falls silent. What is wrong is an exception; the reader decides what follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hexapla.process.failure import TrainerFailure
from hexapla.protocol import (
    Bye,
    Done,
    Error,
    Event,
    Reason,
    Skipped,
    parse_event,
    parse_object,
    validate_event,
)
from hexapla.protocol.order import Order

# Words that answer no request: nobody had asked, or the request had ended.
_STRAY = "unasked"


@dataclass
class Asked:
    """The request being answered. `file` gets its lines; `on_event` its events, as they come."""

    id: str
    name: str
    order: Order
    file: IO[bytes]
    on_event: Callable[[Event], None] | None = None
    events: list[Event] = field(default_factory=list)
    end: Done | Skipped | Error | Bye | None = None


class Hearing:
    """Hears one process. `asked`: the request that it is to answer now, None between requests.

    lines_seen: so many lines of stdout; exit_status: what its events say that it must end with.
    """

    def __init__(self, folder: Path) -> None:
        """folder: where the lines are kept, a file a request."""
        self.asked: Asked | None = None
        self.lines_seen = 0
        self.exit_status = 0
        self.input_ended = False
        self._folder = folder
        self._ended: set[str] = set()

    @property
    def place(self) -> str:
        """Where the last line stood."""
        return f"stdout line {self.lines_seen}"

    def over(self, request_id: str) -> None:
        """The request has been answered: another event for it is one too many."""
        self._ended.add(request_id)

    def take(self, lines: deque[bytes]) -> bool:
        """Hear all lines; whether there was one.

        Raises LineError, SchemaError, OrderError, and TrainerFailure for an event of another request.
        """
        heard = False
        while lines:
            if self.input_ended and self.asked is not None and self.asked.end is not None:
                break  # the `bye` that nobody sends is the next one's
            line = lines.popleft()
            self.lines_seen += 1
            heard = True
            self._keep(line)
            self._take_event(parse_object(line))
        return heard

    def _keep(self, line: bytes) -> None:
        """Into the request's file as it came; what answers no request has a file of its own."""
        if self.asked is not None:
            self.asked.file.write(line)
            self.asked.file.flush()
        else:
            with (self._folder / f"{_STRAY}.jsonl").open("ab") as file:
                file.write(line)

    def _take_event(self, message: dict[str, Any]) -> None:
        asked = self.asked
        event_id = message.get("id")
        words = f"event {message.get('event')!r} for"
        if event_id in self._ended or (asked and asked.end is not None and event_id == asked.id):
            raise TrainerFailure(Reason.AFTER_END, f"{words} {event_id!r}, which had ended")
        if asked is None or event_id != asked.id:
            raise TrainerFailure(Reason.UNKNOWN_ID, f"{words} id {event_id!r}")
        validate_event(message, asked.name)
        event = parse_event(message)
        if asked.order.accept(event):
            assert isinstance(event, Done | Skipped | Error | Bye)
            asked.end = event
            if isinstance(event, Error):
                self.exit_status = max(self.exit_status, 1)
        elif message["event"] != "progress":
            asked.events.append(event)
        if asked.on_event is not None:
            asked.on_event(event)
