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


@dataclass(frozen=True, slots=True)
class Finding:
    """What a level says of one implementation. `axis` is attribution's word, "none" when nothing parted."""

    outcome: Outcome
    reason: str = ""
    axis: str = "none"
    figures: Mapping[str, Figure] = field(default_factory=dict)


class Level(ABC, Generic[Observed]):
    """One question. `stands_on`: levels whose failure blocks it, since its answer would say nothing new."""

    name: ClassVar[str]
    stands_on: ClassVar[tuple[str, ...]] = ()
    built: ClassVar[bool] = True

    @abstractmethod
    def observe(self, session: Session, inputs: Inputs) -> Observed:
        """Ask one implementation. May raise what Session.ask raises; runs in a thread of its own."""

    @abstractmethod
    def judge(
        self, observed: Mapping[str, Observed], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        """A finding for every key of `observed`. `stacks`: implementation → stack of its manifest."""


AnyLevel = Level[Any]
