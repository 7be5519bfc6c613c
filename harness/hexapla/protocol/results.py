"""`results.jsonl`: what a run leaves behind, its writer, its reader, and the exit status that follows.

Separate because three sides must agree on it: the levels write it, `report` reads it, and other tools read
it too (names and meanings change only with `RESULTS_VERSION`). The lines need no "kind" key: the first, the
header, has the key `results`; the last, the footer, has the key `counts`; every line between has `level`.
The exit status is computed here and nowhere else, so that terminal, JSON, JUnit and HTML cannot disagree
with it. This file must not know what a level does, nor how a report looks.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import IO, Any

RESULTS_VERSION = 1
RESULTS_FILE = "results.jsonl"

EXIT_GOOD = 0
EXIT_BAD = 1
EXIT_USAGE = 2
EXIT_UNFINISHED = 3

LEVELS = (
    "abi",
    "operators",
    "loading",
    "rendering",
    "untrained",
    "trajectory",
    "checkpoint",
    "threads",
    "memory",
    "ownership",
    "errors",
)

Figure = float | int | str
"""A number, or "NaN", "Infinity", "-Infinity" as in events; the unit is the last word of its name."""


class Outcome(StrEnum):
    """How a check ended. Only `pass` is a pass; nothing else ever counts as one."""

    PASS = "pass"
    FAIL = "fail"
    EXPECTED_FAIL = "expected-fail"
    UNEXPECTED_PASS = "unexpected-pass"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    NOT_APPLICABLE = "not-applicable"
    UNKNOWN = "unknown"
    FLAKY = "flaky"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"


GOOD_OUTCOMES = frozenset({Outcome.PASS, Outcome.EXPECTED_FAIL, Outcome.SKIPPED, Outcome.NOT_APPLICABLE})
"""The outcomes of exit status 0. `--strict` takes `skipped` out."""


class ResultsError(ValueError):
    """A results file that cannot be read at all; the message is one line and names the file."""


@dataclass(frozen=True)
class Header:
    """First line. `implementations` says what each trainer's `hello` said (stack, language, runtime, core);
    `strict` belongs here because a report made later must come to the same exit status. `core_fault`: the
    fault that core was made to have, "none" for the control; "" in a normal run."""

    versions: Mapping[str, str] = field(default_factory=dict)
    spec_digest: str = ""
    machine: Mapping[str, Figure] = field(default_factory=dict)
    seed: int = 0
    command: str = ""
    started: str = ""
    strict: bool = False
    implementations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    core_fault: str = ""
    results: int = RESULTS_VERSION


@dataclass(frozen=True)
class Line:
    """One implementation at one level. `repeat` is the command that reruns just this."""

    implementation: str
    axis: str
    level: str
    outcome: Outcome
    reason: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    seconds: float = 0.0
    repeat: str = ""


@dataclass(frozen=True)
class Footer:
    """Last line; without it the run did not end. `counts` is per outcome word."""

    counts: Mapping[str, int]
    exit_status: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Results:
    """A results file as read. `faults` are words about the file itself: torn, doubled or miscounted lines."""

    header: Header | None
    lines: tuple[Line, ...]
    footer: Footer | None
    faults: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """True only for a whole file: header, footer, nothing torn, doubled or miscounted."""
        return self.header is not None and self.footer is not None and not self.faults

    @property
    def exit_status(self) -> int:
        strict = self.header is not None and self.header.strict
        return exit_status((line.outcome for line in self.lines), finished=self.finished, strict=strict)


def exit_status(outcomes: Iterable[Outcome], *, finished: bool, strict: bool = False) -> int:
    """0 only for pass, expected-fail, skipped, not-applicable (`strict` refuses skipped); 1 for any other
    outcome, and for a finished run that checked nothing; 3 when the run did not finish."""
    if not finished:
        return EXIT_UNFINISHED
    seen = set(outcomes)
    good = GOOD_OUTCOMES - {Outcome.SKIPPED} if strict else GOOD_OUTCOMES
    return EXIT_GOOD if seen and seen <= good else EXIT_BAD


def count(lines: Iterable[Line]) -> dict[str, int]:
    """Lines per outcome word, in the order of `Outcome`, outcomes without a line left out."""
    counter = Counter(line.outcome for line in lines)
    return {outcome.value: counter[outcome] for outcome in Outcome if counter[outcome]}


class ResultsWriter:
    """Writes `results.jsonl` line by line, flushed as they come, so that a killed run leaves what it knew.

    Use as a context manager; only `finish` writes the footer, so leaving early leaves an unfinished run.
    """

    def __init__(self, folder: Path, header: Header) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lines: list[Line] = []
        self._strict = header.strict
        self._file: IO[str] = (folder / RESULTS_FILE).open("x", encoding="utf-8")
        self._put(asdict(header))

    def write(self, line: Line) -> None:
        self._lines.append(line)
        self._put(asdict(line))

    def finish(self, seconds: float = 0.0) -> Footer:
        status = exit_status((line.outcome for line in self._lines), finished=True, strict=self._strict)
        footer = Footer(count(self._lines), status, seconds)
        self._put(asdict(footer))
        return footer

    def _put(self, value: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def __enter__(self) -> ResultsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def read_results(folder: Path) -> Results:
    """Read a results folder, finished or not; what is wrong with the file itself comes back as `faults`.

    Raises ResultsError when there is no results file or it is of another version.
    """
    path = folder / RESULTS_FILE
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}; give a folder that `hexapla conform` wrote") from error
    reader = _Reader(path)
    for number, text in enumerate(raw.split(b"\n"), 1):
        if text.strip():
            reader.take(number, text)
    return reader.results()


class _Reader:
    """Takes the lines of one file in order and keeps what is wrong with them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header: Header | None = None
        self._footer: Footer | None = None
        self._lines: list[Line] = []
        self._faults: list[str] = []

    def take(self, number: int, text: bytes) -> None:
        try:
            value = json.loads(text)
            if not isinstance(value, dict):
                raise TypeError("not an object")
            if "results" in value:
                self._take_header(number, value)
            elif "counts" in value:
                self._take_footer(number, value)
            else:
                self._take_line(number, value)
        except ResultsError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            self._faults.append(f"line {number}: not a line of results ({error})")

    def results(self) -> Results:
        faults = list(self._faults)
        if self._header is None:
            faults.append("no header line")
        faults.extend(_footer_faults(self._header, self._lines, self._footer))
        return Results(self._header, tuple(self._lines), self._footer, tuple(faults))

    def _take_header(self, number: int, value: dict[str, Any]) -> None:
        if value["results"] != RESULTS_VERSION:
            raise ResultsError(
                f"{self._path}: results version {value['results']!r}; this hexapla reads {RESULTS_VERSION}"
            )
        if self._header is not None or self._lines:
            self._faults.append(f"line {number}: a header that is not the first line")
        self._header = self._header or Header(**value)

    def _take_footer(self, number: int, value: dict[str, Any]) -> None:
        if self._footer is not None:
            self._faults.append(f"line {number}: a second footer")
        if not isinstance(value["counts"], dict):
            raise TypeError("counts is no object")
        self._footer = Footer(**value)

    def _take_line(self, number: int, value: dict[str, Any]) -> None:
        line = Line(**{**value, "outcome": Outcome(value["outcome"])})
        words = (line.implementation, line.axis, line.level, line.reason, line.repeat)
        if not all(isinstance(word, str) for word in words) or not isinstance(line.figures, dict):
            raise TypeError("a key of the wrong type")
        if self._footer is not None:
            self._faults.append(f"line {number}: a result behind the footer")
        place = (line.implementation, line.level)
        if place in ((each.implementation, each.level) for each in self._lines):
            self._faults.append(f"line {number}: {line.implementation} at {line.level} a second time")
        self._lines.append(line)


def _footer_faults(header: Header | None, lines: list[Line], footer: Footer | None) -> list[str]:
    if footer is None:
        return []
    faults = []
    if dict(footer.counts) != count(lines):
        faults.append(f"footer counts {dict(footer.counts)}, the lines say {count(lines)}")
    strict = header is not None and header.strict
    status = exit_status((line.outcome for line in lines), finished=True, strict=strict)
    if footer.exit_status != status:
        faults.append(f"footer says exit status {footer.exit_status}, the lines say {status}")
    return faults


def _plain(value: Any) -> Any:
    """JSON has no NaN: numbers that are not finite become the protocol's strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
