"""Owners together: Scope closes many at one place, `collect` frees what cycles hold. Separate from the
compiled classes, since neither needs anything but Python.
"""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Protocol, TypeVar


class Owner(Protocol):
    """What every class of this package is: a share that can be given back."""

    def close(self) -> None: ...


Kept = TypeVar("Kept", bound=Owner)


class Scope:
    """Owners that are closed together, the newest first, when the `with` block ends."""

    def __init__(self) -> None:
        self.owners: list[Owner] = []

    def keep(self, owner: Kept) -> Kept:
        """Close it with the others; returned for use."""
        self.owners.append(owner)
        return owner

    def close(self) -> None:
        while self.owners:
            self.owners.pop().close()

    def __enter__(self) -> Scope:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def collect(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
    """A pressure hook: run Python's collector; try again if it found anything."""
    return gc.collect() > 0
