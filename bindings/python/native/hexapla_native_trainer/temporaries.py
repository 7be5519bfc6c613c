"""How a micro-batch's temporaries go: `explicit`, closed together, or `collector`, lost in a reference
cycle until Python's collector finds them. Separate because every stage that computes needs it, and none
cares which.
"""

from __future__ import annotations

from hexapla_native import Owner, Scope


class _Cycle:
    """Refers to itself, so that dropping it frees nothing."""

    def __init__(self, owners: list[Owner]) -> None:
        self.owners = owners
        self.itself = self


def lose(owners: list[Owner]) -> None:
    """Drop owners so that only a collection gives them back."""
    _Cycle(owners)


class LosingScope(Scope):
    """A scope that closes nothing."""

    def close(self) -> None:
        lose(self.owners)
        self.owners = []


def temporaries(release: str) -> Scope:
    """A new scope by the request's `release`."""
    return LosingScope() if release == "collector" else Scope()
