"""How a request ends early: `Failure` becomes an `error` event, `Skip` a `skipped` one.

Separate so that every stage can raise them without knowing how events are written. No stage may
write an event for an error itself.
"""

from __future__ import annotations


class Failure(Exception):
    """The request failed: `status` is one of the protocol's words, `where` names the place."""

    def __init__(self, status: str, message: str, where: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.where = where


class Skip(Exception):
    """This trainer does not know or cannot do what was asked; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
