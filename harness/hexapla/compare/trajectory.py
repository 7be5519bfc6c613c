"""One implementation's training run as its raw events tell it.

Separate so that every comparison starts from the same reading. A run that doubles an update, leaves one out,
ends early or holds a number that is not finite is still read as far as it goes, but each such thing is a
`Defect`, and a trajectory with defects can never pass. This file compares nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from hexapla.protocol.events import (
    Checkpoint,
    Data,
    Done,
    Error,
    Evaluation,
    Event,
    Progress,
    Skipped,
    Step,
    parse_event,
)
from hexapla.protocol.lines import LineError, parse_object
from hexapla.protocol.validate import SchemaError, validate_event


class DefectKind(StrEnum):
    """What can be wrong with a run before it is compared with another."""

    ABSENT = "absent"
    UNREADABLE = "unreadable"
    DUPLICATE = "duplicate"
    ORDER = "out of order"
    GAP = "gap"
    SHORT = "short"
    NON_FINITE = "not finite"
    ERROR = "error"


@dataclass(frozen=True)
class Defect:
    """One thing wrong: its kind, where (update or line), and a sentence with the values."""

    kind: DefectKind
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind.value} at {self.where}: {self.message}"


@dataclass(frozen=True)
class Series:
    """The curves that statistics are made of, by update; all that another tool's log has too.

    heldout_ce and step_loss in nats per label; learning_rate and gradient_norm as reported.
    """

    heldout_ce: Mapping[int, float] = field(default_factory=dict)
    step_loss: Mapping[int, float] = field(default_factory=dict)
    gradient_norm: Mapping[int, float] = field(default_factory=dict)
    learning_rate: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Trajectory:
    """Steps, evaluations and checkpoints by update, in the order of their first appearance.

    `skipped` holds the reason when the trainer said that it cannot train; nothing else of it is then known.
    Losses are nats per label, totals nats, times milliseconds.
    """

    implementation: str
    source: str
    data: Data | None = None
    steps: Mapping[int, Step] = field(default_factory=dict)
    evaluations: Mapping[int, Evaluation] = field(default_factory=dict)
    checkpoints: Mapping[int, Checkpoint] = field(default_factory=dict)
    done: Done | None = None
    skipped: str | None = None
    defects: tuple[Defect, ...] = ()

    @classmethod
    def from_events(
        cls, path: Path, implementation: str | None = None, updates: tuple[int, int] | None = None
    ) -> Trajectory:
        """Read `events/<implementation>/train.jsonl`.

        `updates`: first and last update that the run owes; without it they are taken from the run itself
        (1, or the first step of a resume, to `done`'s step). Never raises: an absent file is a defect too.
        """
        name = implementation or path.parent.name
        try:
            raw = path.read_bytes()
        except OSError as error:
            defect = Defect(DefectKind.ABSENT, "the whole run", f"{path}: {error.strerror}")
            return cls(name, str(path), defects=(defect,))
        reader = _Reader(updates)
        for number, line in enumerate(raw.split(b"\n"), 1):
            if line.strip():
                reader.take_line(number, line)
        return reader.trajectory(name, str(path))

    @classmethod
    def from_parsed(
        cls, implementation: str, events: Sequence[Event], updates: tuple[int, int] | None = None
    ) -> Trajectory:
        """The same from events that the harness has already validated and typed."""
        reader = _Reader(updates)
        for event in events:
            reader.take(event)
        return reader.trajectory(implementation, f"events of {implementation}")

    @property
    def observed(self) -> bool:
        """True when there is anything to compare."""
        return bool(self.steps or self.evaluations)

    @property
    def series(self) -> Series:
        return Series(
            heldout_ce={k: each.loss for k, each in self.evaluations.items()},
            step_loss={k: each.loss for k, each in self.steps.items()},
            gradient_norm={k: each.gradient_norm for k, each in self.steps.items()},
            learning_rate={k: each.learning_rate for k, each in self.steps.items()},
        )


class _Reader:
    def __init__(self, updates: tuple[int, int] | None) -> None:
        self._updates = updates
        self._data: Data | None = None
        self._steps: dict[int, Step] = {}
        self._evaluations: dict[int, Evaluation] = {}
        self._checkpoints: dict[int, Checkpoint] = {}
        self._done: Done | None = None
        self._skipped: str | None = None
        self._ended = False
        self._defects: list[Defect] = []

    def take_line(self, number: int, line: bytes) -> None:
        try:
            message = parse_object(line)
            validate_event(message, "train")
            self.take(parse_event(message))
        except (LineError, SchemaError) as error:
            self._defect(DefectKind.UNREADABLE, f"line {number}", str(error))

    def take(self, event: Event) -> None:
        if isinstance(event, Progress):
            return
        if self._ended:
            name = type(event).__name__.lower()
            self._defect(DefectKind.ORDER, "the end", f"an event {name} behind the end")
        match event:
            case Step():
                self._take_step(event)
            case Evaluation():
                self._take_evaluation(event)
            case Checkpoint():
                if event.step in self._checkpoints:
                    self._defect(DefectKind.DUPLICATE, f"update {event.step}", "a second checkpoint")
                self._checkpoints.setdefault(event.step, event)
            case Data():
                self._data = event
            case Skipped():
                self._skipped, self._ended = event.reason, True
            case Error():
                self._ended = True
                text = f"{event.status}: {event.message} ({event.where})"
                self._defect(DefectKind.ERROR, f"update {self._last_update() + 1}", text)
            case Done():
                self._done, self._ended = event, True
            case _:
                name = type(event).__name__.lower()
                self._defect(DefectKind.UNREADABLE, "the run", f"an event {name} in answer to train")

    def _take_step(self, step: Step) -> None:
        where = f"update {step.step}"
        if step.step in self._steps:
            self._defect(DefectKind.DUPLICATE, where, "a second step event")
            return
        last = self._last_update()
        if self._steps and step.step < last:
            self._defect(DefectKind.ORDER, where, f"comes behind update {last}")
        elif self._steps and step.step > last + 1:
            self._defect(DefectKind.GAP, where, f"comes straight behind update {last}")
        for name in ("loss", "gradient_norm", "learning_rate", "milliseconds"):
            self._check_finite(where, name, getattr(step, name))
        self._steps[step.step] = step

    def _take_evaluation(self, evaluation: Evaluation) -> None:
        where = f"evaluation {evaluation.step}"
        if evaluation.step in self._evaluations:
            self._defect(DefectKind.DUPLICATE, where, "a second evaluation event")
            return
        self._check_finite(where, "loss", evaluation.loss)
        self._check_finite(where, "total", evaluation.total)
        for index, value in enumerate(evaluation.record_nll):
            if not math.isfinite(value):
                self._check_finite(where, f"record_nll[{index}]", value)
                break
        self._evaluations[evaluation.step] = evaluation

    def _check_finite(self, where: str, name: str, value: float) -> None:
        if not math.isfinite(value):
            self._defect(DefectKind.NON_FINITE, where, f"{name} is {value}")

    def _last_update(self) -> int:
        return max(self._steps, default=self._updates[0] - 1 if self._updates else 0)

    def _defect(self, kind: DefectKind, where: str, message: str) -> None:
        self._defects.append(Defect(kind, where, message))

    def trajectory(self, implementation: str, source: str) -> Trajectory:
        if self._skipped is None:
            self._check_extent()
        return Trajectory(
            implementation=implementation,
            source=source,
            data=self._data,
            steps=self._steps,
            evaluations=self._evaluations,
            checkpoints=self._checkpoints,
            done=self._done,
            skipped=self._skipped,
            defects=tuple(self._defects),
        )

    def _check_extent(self) -> None:
        if not self._steps:
            self._defect(DefectKind.ABSENT, "the whole run", "no step event")
            return
        first, last = min(self._steps), max(self._steps)
        owed_first = self._updates[0] if self._updates else (1 if 0 in self._evaluations else first)
        if first > owed_first:
            self._defect(DefectKind.GAP, f"update {owed_first}", f"the first step event is update {first}")
        if not self._ended:
            self._defect(DefectKind.SHORT, f"update {last}", "the run has no end event")
        owed_last = self._updates[1] if self._updates else last
        if self._done is not None:
            owed_last = max(owed_last, int(self._done.values["step"]))
        if last < owed_last:
            self._defect(DefectKind.SHORT, f"update {last}", f"the last step event, {owed_last} are owed")
        if self._done is not None and last not in self._evaluations and not self._done.values["stopped"]:
            self._defect(DefectKind.GAP, f"evaluation {last}", "no evaluation after the last update")
