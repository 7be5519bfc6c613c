"""One implementation during a run: its process, started when first asked, and the ids of its requests.

Separate so that levels say what they ask and nothing of processes: a process that died under one level
is replaced for the next, ids stay unique, and the context is made in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapla.process import Answer, Launch, Trainer, TrainerFailure
from hexapla.protocol import Bye, Error, Event, Hello, Skipped


class RequestSkipped(Exception):
    """The trainer answered `skipped`; the text is its reason."""


class RequestFailed(Exception):
    """The trainer answered `error`; the text holds its status, message and place."""

    def __init__(self, request: str, error: Error) -> None:
        where = f" at {error.where}" if error.where else ""
        super().__init__(f"{request} ended in error {error.status}: {error.message}{where}")
        self.error = error


class HelloFailed(Exception):
    """The process never got past hello, so no level can ask it anything."""

    def __init__(self, failure: TrainerFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(frozen=True, slots=True)
class ContextChoice:
    """What the command line says of contexts."""

    device: str
    threads: int


class Session:
    """Asks one implementation. One thread at a time."""

    def __init__(self, launch: Launch, choice: ContextChoice, on_event: Callable[[str, Event], None]) -> None:
        self.name = launch.name
        self.hello: Hello | None = None
        self._launch = launch
        self._choice = choice
        self._on_event = on_event
        self._trainer: Trainer | None = None
        self._skipped = ""  # why it answered hello with `skipped`: so it answers everything
        self._starts = 0
        self._used: dict[str, int] = {}

    def ask(
        self, request: str, request_id: str, *, heard: Callable[[Event], None] | None = None, **keys: Any
    ) -> Answer:
        """Ask and return what ended in `done`.

        `context`: None for the run's own choice, or a mapping of the keys in which it is to differ.
        `heard`: gets each event as it comes, in the asking thread.

        Raises RequestSkipped, RequestFailed, TrainerFailure, and HelloFailed when the process cannot be
        brought to the point where it could be asked.
        """
        trainer = self._started()
        unique = self._unique(request_id)
        if "context" in keys:
            keys["context"] = {**self._context(unique), **(keys["context"] or {})}

        def hear(event: Event) -> None:
            self._on_event(self.name, event)
            if heard is not None:
                heard(event)

        answer = trainer.ask(request, unique, hear, **keys)
        if isinstance(answer.end, Skipped):
            raise RequestSkipped(answer.end.reason)
        if isinstance(answer.end, Error):
            raise RequestFailed(request, answer.end)
        return answer

    def greet(self) -> Hello:
        """Start it if need be and return what it said of itself. Raises RequestSkipped, HelloFailed."""
        self._started()
        assert self.hello is not None
        return self.hello

    def ledger_of(self, request_id: str) -> Path:
        """Where the context of a request keeps its ledger, whether or not it made one."""
        return self._launch.results / "ledger" / self.name / f"{request_id}.bin"

    def close(self) -> Bye | None:
        """Say bye to a running process and check how it ends; None when none runs. Raises TrainerFailure."""
        trainer, self._trainer = self._trainer, None
        if trainer is not None and trainer.failure is None:
            return trainer.close()
        return None

    @property
    def running(self) -> Trainer:
        """The process, started if need be, for what is done to it from outside. Raises as `greet` does."""
        return self._started()

    def abandon(self) -> None:
        """End a running process at once."""
        trainer, self._trainer = self._trainer, None
        if trainer is not None and trainer.failure is None:
            trainer.kill()

    def interrupt(self) -> None:
        """End the process from another thread; whoever is asking sees it die."""
        if self._trainer is not None:
            self._trainer.interrupt()

    def _started(self) -> Trainer:
        if self._skipped:
            raise RequestSkipped(self._skipped)
        if self._trainer is not None and self._trainer.failure is None:
            return self._trainer
        try:
            self._trainer = Trainer(self._launch)
            hello = self._trainer.hello(self._unique("hello"))
        except TrainerFailure as failure:
            raise HelloFailed(failure) from None
        if isinstance(hello, Skipped):
            self._skipped = hello.reason
            raise RequestSkipped(hello.reason)
        self.hello = hello
        return self._trainer

    def _unique(self, request_id: str) -> str:
        count = self._used[request_id] = self._used.get(request_id, 0) + 1
        return request_id if count == 1 else f"{request_id}-{count}"

    def _context(self, request_id: str) -> dict[str, Any]:
        ledger: Path | None = None
        if self.hello is not None and "ledger" in self.hello.capabilities:
            ledger = self.ledger_of(request_id)
            ledger.parent.mkdir(parents=True, exist_ok=True)
        return {
            "device": self._choice.device,
            "threads": self._choice.threads,
            "memory_limit": 0,
            "spill": False,
            "ledger": str(ledger) if ledger else None,
        }
