"""What a level is: what it asks an implementation, and how it judges the answers side by side.

Separate so that a new level is one file with one class. A level never starts a process and never writes
a result: it asks through a Session and returns findings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from hexapla.levels.session import Session
from hexapla.protocol import Outcome
from hexapla.protocol.results import Figure
from hexapla.spec import Spec

Observed = TypeVar("Observed")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What every implementation is given. Folders and files are absolute; `work` is for outputs.

    `render_files`: record files that `rendering` goes through, by a short name; `render_length` in tokens.
    `headers`: the folder of core's public headers; `c_compiler`: the words of the C compiler, their judge.
    """

    spec: Spec
    model: Path
    tokenizer: Path
    train: Path
    heldout: Path
    adapter: Path
    render_files: Mapping[str, Path]
    render_length: int
    work: Path
    headers: Path
    c_compiler: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """How one check of a level ended. `words`: what did not hold, or why nothing was asked; "" of a pass."""

    name: str
    outcome: Outcome
    words: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a level says of one implementation. `axis` is attribution's word, "none" when nothing parted.

    `checks`: what it follows from, in levels of several checks.
    """

    outcome: Outcome
    reason: str = ""
    axis: str = "none"
    figures: Mapping[str, Figure] = field(default_factory=dict)
    checks: tuple[CheckFinding, ...] = ()


class NotApplicable(Exception):
    """The level's question has no meaning for this implementation; the text says why."""


class Level(ABC, Generic[Observed]):
    """One question. `stands_on`: levels whose failure blocks it, since its answer would say nothing new."""

    name: ClassVar[str]
    stands_on: ClassVar[tuple[str, ...]] = ()
    rounds: ClassVar[int] = 1
    beside: ClassVar[tuple[str, ...]] = ()
    """Implementations that must run too, for one alone to be judged."""

    @abstractmethod
    def observe(self, session: Session, inputs: Inputs) -> Observed:
        """Ask one implementation, in its own thread. Raises NotApplicable and what Session.ask raises."""

    def observe_again(
        self, session: Session, inputs: Inputs, own: Observed, observed: Mapping[str, Observed]
    ) -> Observed:
        """A second round, for levels of two `rounds`: ask again, knowing what everybody answered first."""
        return own

    @abstractmethod
    def judge(
        self, observed: Mapping[str, Observed], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        """A finding for every key of `observed`. `stacks`: implementation → stack of its manifest."""


AnyLevel = Level[Any]
