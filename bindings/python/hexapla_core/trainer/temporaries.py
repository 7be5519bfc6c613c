"""Temporaries of a micro-batch: held until it is done, then released together.

Separate because the protocol asks for two ways: `explicit` closes them; `collector` drops them unclosed
inside a reference cycle, so that only Python's collector, asked by the pressure hook, can find them.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from hexapla_core.safe import Tensor


class Temporaries:
    """A scope of tensors, closed at its end; `keep` gives each back as it is."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def keep(self, tensor: Tensor) -> Tensor:
        """Hold a tensor until the scope ends."""
        self._kept.append(tensor)
        return tensor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._kept:
            self._kept.pop().close()


class Dropped(Temporaries):
    """A scope that closes nothing: at its end its tensors hang in a cycle that nobody refers to."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.append(self._kept)
        self._kept = []


def temporaries_of(release: str) -> type[Temporaries]:
    """The scope for a request's `release`."""
    return Dropped if release == "collector" else Temporaries
