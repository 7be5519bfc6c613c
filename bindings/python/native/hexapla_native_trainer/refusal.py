"""How a request ends otherwise than in `done`. Separate so that every stage can raise these and only main
answers them.
"""

from __future__ import annotations


class Refusal(Exception):
    """An `error` event: `status` as the protocol lists them, one line of text, and where."""

    def __init__(self, status: str, message: str, where: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = " ".join(message.split("\n"))
        self.where = where


class Skip(Exception):
    """A `skipped` event, with its reason."""


class At:
    """Names where a core call or a file failed: `with At(path): …` turns both errors into a Refusal there."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from hexapla_native import Error  # noqa: PLC0415 - the stages of text need no compiled module

        if isinstance(error, Error):
            raise Refusal(error.status, error.message, self._where) from error
        if isinstance(error, OSError):
            raise Refusal("io", f"{self._where}: {error.strerror or error}", self._where) from error
