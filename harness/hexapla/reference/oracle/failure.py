"""The two ways in which a request ends other than in `done`.

Apart from everything else because each stage raises them and only the main loop turns them into events. No
printing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class Failure(Exception):
    """Ends a request in the event `error`; the three strings are that event's keys."""

    def __init__(self, status: str, message: str, where: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = " ".join(message.split())
        self.where = where


class Skipped(Exception):
    """Ends a request in the event `skipped`: the oracle does not know how to do this, and says so."""


def io_failure(error: OSError, path: Path) -> Failure:
    """Turn an operating-system error into the `io` error that names the path."""
    return Failure("io", f"{path}: {error.strerror or error}", str(path))


def read_bytes(path: Path) -> bytes:
    """Read a whole file; raises Failure (`io`) when that is not possible."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise io_failure(error, path) from error


def listing(names: Sequence[str], limit: int = 3) -> str:
    """Count the names and show the first few: `2 (a, b)`."""
    shown = ", ".join(names[:limit]) + (", …" if len(names) > limit else "")
    return f"{len(names)} ({shown})" if names else "0"
