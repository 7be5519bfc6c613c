"""A session without a process: it answers probes from a table, and keeps what it was asked.

Separate because the levels are tested on the same made-up answers, each changed in one known way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hexapla.levels.session import RequestSkipped
from hexapla.process import Answer
from hexapla.protocol import Done, Hello, Probe

Seen = dict[str, float | str]
Says = Seen | Callable[[Mapping[str, Any]], Seen] | None


class ScriptedSession:
    """`says`: scenario → what it sees, a function of its parameters, or None for `skipped`."""

    def __init__(
        self, says: Mapping[str, Says], name: str = "go", ledger: Path | None = None, language: str = "Go"
    ) -> None:
        self.name = name
        self.asked: list[Mapping[str, Any]] = []
        self._says = says
        self._ledger = ledger
        self._hello = Hello("h", 1, name, language, "", "core", "core 1", [], [])

    def greet(self) -> Hello:
        return self._hello

    def ask(self, request: str, request_id: str, **keys: Any) -> Answer:
        assert request == "probe"
        self.asked.append(keys)
        said = self._says[keys["scenario"]]
        if said is None:
            raise RequestSkipped("this language has none")
        seen = said(keys["parameters"]) if callable(said) else said
        return Answer([Probe("p", keys["scenario"], seen)], Done("p", {}), 0.0, self._ledger)
