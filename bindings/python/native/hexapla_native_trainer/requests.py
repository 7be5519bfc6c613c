"""Requests in: lines of stdin, read by a thread of its own, so that the end of stdin is seen while a run
goes on.
"""

from __future__ import annotations

import queue
import sys
import threading
from typing import Any

from hexapla_native_trainer.strict_json import parse

LINE_MOST = 16 * 2**20


class Unreadable(ValueError):
    """A line that is no request."""


class Requests:
    """The lines of stdin; `ended` tells that no more will come."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._number = 0
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def ended(self) -> bool:
        return self._ended.is_set()

    def next(self) -> dict[str, Any] | None:
        """The next request's object, which has a string `id`; None at the end. Raises Unreadable."""
        line = self._lines.get()
        if line is None:
            return None
        self._number += 1
        where = f"line {self._number}"
        if len(line) > LINE_MOST:
            raise Unreadable(f"{where}: longer than {LINE_MOST} bytes")
        try:
            value = parse(line.removesuffix(b"\n"))
        except ValueError as error:
            raise Unreadable(f"{where}: {error}") from None
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            raise Unreadable(f"{where}: a request must be an object with a string id")
        return value

    def _read(self) -> None:
        while line := sys.stdin.buffer.readline(LINE_MOST + 2):
            self._lines.put(line)
            while len(line) > LINE_MOST and not line.endswith(b"\n") and line:
                line = sys.stdin.buffer.readline(LINE_MOST + 2)  # the rest of a line that is too long
        self._ended.set()
        self._lines.put(None)
