"""What ends a request in `error`: a status, one line of text, and where.

Separate so that every stage can raise it. Core's own errors are turned into it, text unchanged, where the
place is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hexapla_core.safe import HexaplaError


class Failure(Exception):
    """The end of a request. status: core's name or the protocol's word; where: file:line, key, …"""

    def __init__(self, status: str, message: str, where: str) -> None:
        super().__init__(message)
        self.status, self.message, self.where = status, message, where


@contextmanager
def located(where: str) -> Iterator[None]:
    """Name the place of a failure of core or of the operating system inside the block."""
    try:
        yield
    except HexaplaError as error:
        raise Failure(error.status, str(error), where) from error
    except OSError as error:
        raise Failure("io", f"{error.strerror or error}", str(error.filename or where)) from error
