"""Levels that have their place in the order but no check yet. They say so and never pass.

Separate so that the table of levels is complete from the first day and each of these moves into a file
of its own when it is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.session import RequestSkipped, Session

NOT_BUILT = "not built yet"


class _Later(Level[None]):
    built: ClassVar[bool] = False

    def observe(self, session: Session, inputs: Inputs) -> None:
        raise RequestSkipped(NOT_BUILT)

    def judge(
        self, observed: Mapping[str, None], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        return {}


class Memory(_Later):
    name: ClassVar[str] = "memory"
    stands_on: ClassVar[tuple[str, ...]] = ("operators",)
