"""Runs a fault over implementations and levels, judges each cell by the catalogue, writes the matrix down.

Separate from the test so that what is judged and what is written cannot differ: both are these cells. Nothing
is decided here that the catalogue or core's ledger does not say.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import numpy as np
from hexapla.cli import main
from hexapla.faults import NO_FAULT, CatalogueEntry, core_faults
from hexapla.levels.tracking import moves_of
from hexapla.protocol.results import LEVELS, Line, Outcome, read_results

ROOT = Path(__file__).resolve().parents[2]
EMBEDDED = ROOT / "harness/hexapla/data/embedded"
IMPLEMENTATIONS = ("c", "go", "java", "native", "python", "rust", "zig")
NUMERIC = ("operators", "loading", "rendering", "untrained", "trajectory", "checkpoint")
FOUND = {Outcome.FAIL, Outcome.FLAKY, Outcome.CRASHED, Outcome.TIMED_OUT}
HELD = {Outcome.PASS, Outcome.NOT_APPLICABLE}
_WORDS = 300  # of a reason, in the file
_HEAD = """# What catches which fault

Written by the session `faults` (`tests/faults`), never by hand: each fault of the core that can be made
wrong, put back by its name, in the implementations that core drives, on the specification `micro`. A cell
counts the implementations that caught the fault at that level; `silent` counts those that had to pass there
and did: all at a level that must stay silent, and those that the fault cannot reach. An empty cell was not
asked. `moved` and `behind` it: docs/threads.md. What must be where: harness/hexapla/faults/catalogue.
"""


class Verdict(StrEnum):
    """What a cell comes to. All but the first four are wrong."""

    CAUGHT = "caught"
    SILENT = "silent"
    MOVED = "caught, since its own runtime moved the task"
    BEHIND = "not asked, behind such an alarm"
    ESCAPED = "escaped"
    FALSE_ALARM = "false alarm"
    OTHER_WORDS = "caught in other words"
    NOT_APPLIED = "caught, but the fault never said that it was applied"


RIGHT = {Verdict.CAUGHT, Verdict.SILENT, Verdict.MOVED, Verdict.BEHIND}


@dataclass(frozen=True)
class Cell:
    """One fault in one implementation at one level. `moves`: how often its pinned runs there changed their OS
    thread, by the ledger, where that is why it alarmed."""

    fault: str
    implementation: str
    level: str
    outcome: Outcome
    reason: str
    verdict: Verdict
    moves: int = 0

    def __str__(self) -> str:
        where = f"{self.fault} in {self.implementation} at {self.level}"
        return f"{self.verdict}: {where}: {self.outcome} {self.reason}"


@dataclass(frozen=True)
class Ran:
    """What a run says of each implementation at each level, and which of them said that the fault acted."""

    folder: Path
    lines: dict[tuple[str, str], Line]
    core_fault: str
    applied: frozenset[str]


def write_mixed_model(folder: Path) -> Path:
    """The embedded model with its tensors in F16, F32 and BF16 by turns; each begins with a subnormal of f32
    or, in F16, of f16. All values stay what a model can have, so that every level can run on it."""
    source = EMBEDDED / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes((source / "config.json").read_bytes())
    raw = (source / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = {name: said for name, said in json.loads(raw[8:start]).items() if name != "__metadata__"}
    said, parts, at = {}, [], 0
    for number, name in enumerate(sorted(header)):
        first, last = header[name]["data_offsets"]
        words = np.frombuffer(raw[start + first : start + last], "<u2").copy()
        words[0] = 0x0001  # the smallest subnormal of BF16
        values = (words.astype("<u4") << 16).view("<f4")
        dtype = ("F16", "F32", "BF16")[number % 3]
        if dtype == "F16":
            values[0] = 2.0**-24  # and that of F16
        data = {"F16": values.astype("<f2"), "F32": values, "BF16": words}[dtype].tobytes()
        said[name] = {"dtype": dtype, "shape": header[name]["shape"], "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(said).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
    return folder


def run(fault: str, levels: Sequence[str], bindings: list[str], folder: Path, *words_more: str) -> Ran:
    """One conformance run of `micro`; words_more: what else `hexapla conform` is told."""
    words = ["conform", "--spec", "micro", "--core-fault", fault, *words_more]
    words += [word for name in bindings for word in ("--binding", name)]
    words += [word for level in levels for word in ("--level", level)]
    main([*words, "--results", str(folder)])
    read = read_results(folder)
    assert read.finished and read.header is not None
    line = f"hexapla: fault {fault} applied".encode()
    logs = {name: folder / "stderr" / f"{name}.log" for name in bindings}
    applied = frozenset(name for name, log in logs.items() if log.exists() and line in log.read_bytes())
    lines = {(each.implementation, each.level): each for each in read.lines}
    return Ran(folder, lines, read.header.core_fault, applied)


def try_fault(entry: CatalogueEntry, bindings: list[str], folder: Path) -> Iterator[Cell]:
    """All cells of a fault. The levels that must catch it run by themselves, so that none is blocked by
    another that the fault makes fail; those that must be silent run in a second run, in which a reference
    that does not hold is a cell too: siblings that are wrong together may put the blame on it."""
    model = ["--model", str(write_mixed_model(folder / "model"))] if entry.model == "mixed" else []
    for name, levels in (("caught", list(entry.caught)), ("silent", list(entry.silent))):
        words = ["--references", references(entry, levels), *model]
        ran = run(entry.name, levels, bindings, folder / name, *words)
        assert ran.core_fault == entry.name
        for level in levels:
            for implementation in bindings:
                yield judge(entry, implementation, level, ran)
            for implementation in ("torch", "oracle"):
                line = ran.lines.get((implementation, level))
                if name == "silent" and line is not None and line.outcome not in HELD:
                    yield judge(entry, implementation, level, ran)


def references(entry: CatalogueEntry, levels: Sequence[str]) -> str:
    """Both where a fault of the stack is judged by numbers: core-driven trainers that are wrong together
    would outvote one. Where a number must only stay right one is enough, and torch takes the most time."""
    if not set(levels) & set(NUMERIC):
        return "none"
    return "all" if entry.axis == "stack" else "oracle"


def control(bindings: list[str], folder: Path) -> Iterator[Cell]:
    """The same build without a fault, at all levels and, for loading, with the model of all float types."""
    ran = run(NO_FAULT, LEVELS, bindings, folder / "all")
    model = str(write_mixed_model(folder / "model"))
    mixed = run(NO_FAULT, ["loading"], bindings, folder / "mixed", "--model", model)
    assert ran.core_fault == NO_FAULT and not ran.applied
    for line in (*ran.lines.values(), *mixed.lines.values()):
        verdict = Verdict.SILENT if line.outcome in HELD else Verdict.FALSE_ALARM
        yield Cell(NO_FAULT, line.implementation, line.level, line.outcome, line.reason, verdict)


def judge(entry: CatalogueEntry, implementation: str, level: str, ran: Ran) -> Cell:
    """Hold one line to the catalogue."""
    line = ran.lines[implementation, level]
    alarmed, moved = line.outcome in FOUND, 0
    if level in entry.caught and entry.can_reach(implementation, level):
        verdict = Verdict.CAUGHT if alarmed else Verdict.ESCAPED
        if alarmed and entry.caught[level] not in line.reason:
            verdict = Verdict.OTHER_WORDS
        elif alarmed and implementation not in ran.applied:
            verdict = Verdict.NOT_APPLIED
    elif line.outcome in HELD:
        verdict = Verdict.SILENT
    else:
        verdict = Verdict.FALSE_ALARM
        moved = pinned_moves(ran.folder, implementation, level) if entry.moves and alarmed else 0
        if moved:
            verdict = Verdict.MOVED
        elif entry.moves and line.outcome is Outcome.BLOCKED and _moved_before(implementation, level, ran):
            verdict = Verdict.BEHIND
    reason = line.reason.replace(str(ran.folder), "RESULTS")
    return Cell(entry.name, implementation, level, line.outcome, reason, verdict, moved)


def pinned_moves(folder: Path, implementation: str, level: str) -> int:
    """How often the requests of a level that were to stay on one OS thread changed it all the same: the
    runtime's own doing, and the very thing that such a fault needs. By core's ledger (docs/threads.md)."""
    prefix = "train" if level == "trajectory" else level
    ledgers = (folder / "ledger" / implementation).glob(f"{prefix}*.bin")
    return sum(moves_of(ledger) for ledger in ledgers if "migrating" not in ledger.name)


def _moved_before(implementation: str, level: str, ran: Ran) -> bool:
    """Whether an earlier level alarmed since the task was moved, and so blocks this one."""
    return any(
        ran.lines[implementation, each].outcome in FOUND and pinned_moves(ran.folder, implementation, each)
        for each in LEVELS[: LEVELS.index(level)]
        if (implementation, each) in ran.lines
    )


def write_matrix(path: Path, cells: list[Cell], bindings: list[str], seconds: float) -> None:
    """The matrix as a page: fault by level, then each fault by implementation in the words of its finding."""
    faults = list(dict.fromkeys(cell.fault for cell in cells))
    wrong = [cell for cell in cells if cell.verdict not in RIGHT]
    changed = (
        ", changed since" if _git("status", "--porcelain", "core", "bindings", "harness", "tests") else ""
    )
    tried = f"{len(set(faults) & set(core_faults()))} of {len(core_faults())}"
    also = "and the same build with none on" if NO_FAULT in faults else "without the control"
    minutes = f"{seconds / 60:.0f} minutes on {os.cpu_count()} cores"
    text = [
        _HEAD,
        f"- command: `{command(bindings)}`",
        f"- date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {minutes}",
        f"- commit: {_git('rev-parse', '--short=12', 'HEAD')}{changed}",
        f"- implementations: {', '.join(bindings)}",
        f"- faults: {tried}, {also}",
        f"- cells: {len(cells)}; not as the catalogue says: {len(wrong)}",
        "",
    ]
    text += ["| fault | " + " | ".join(LEVELS) + " |", "|---|" + "---|" * len(LEVELS)]
    for fault in faults:
        own = [cell for cell in cells if cell.fault == fault]
        text.append(f"| {fault} | " + " | ".join(_summary(own, level) for level in LEVELS) + " |")
    text += ["", "## Not as the catalogue says", ""]
    text += [f"- {_one_line(str(cell))}" for cell in wrong] or ["Nothing."]
    for fault in faults:
        text += _section(fault, [cell for cell in cells if cell.fault == fault])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(text) + "\n", "utf-8")


def command(bindings: list[str]) -> str:
    """What makes this page again."""
    chosen = "" if bindings == list(IMPLEMENTATIONS) else f"HEXAPLA_FAULT_BINDINGS={','.join(bindings)} "
    some = f"HEXAPLA_FAULTS={os.environ['HEXAPLA_FAULTS']} " if "HEXAPLA_FAULTS" in os.environ else ""
    return f"{chosen}{some}HEXAPLA_FAULT_RESULTS=docs/results/faults.md nox -s faults"


def _summary(cells: list[Cell], level: str) -> str:
    own = [cell for cell in cells if cell.level == level]
    counts = {verdict: sum(cell.verdict is verdict for cell in own) for verdict in Verdict}
    said = [f"**caught {counts[Verdict.CAUGHT]}**"] if counts[Verdict.CAUGHT] else []
    said += [f"silent {counts[Verdict.SILENT]}"] if counts[Verdict.SILENT] else []
    said += [f"moved {counts[Verdict.MOVED]}"] if counts[Verdict.MOVED] else []
    said += [f"behind {counts[Verdict.BEHIND]}"] if counts[Verdict.BEHIND] else []
    bad = sum(counts[verdict] for verdict in Verdict if verdict not in RIGHT)
    return ", ".join(said + ([f"WRONG {bad}"] if bad else []))


def _section(fault: str, cells: list[Cell]) -> list[str]:
    entry = core_faults().get(fault)
    if entry is None:
        return []
    text = ["", f"## {fault}", "", entry.summary, ""]
    text += ["| level | implementation | outcome | verdict | in words |", "|---|---|---|---|---|"]
    for cell in cells:
        if cell.level in entry.caught or cell.verdict is not Verdict.SILENT:
            verdict = cell.verdict.value + (f" {cell.moves} times" if cell.moves else "")
            words = _one_line(cell.reason)
            text.append(f"| {cell.level} | {cell.implementation} | {cell.outcome} | {verdict} | {words} |")
    return text


def _one_line(text: str) -> str:
    short = text if len(text) <= _WORDS else text[:_WORDS].rsplit(" ", 1)[0] + " …"
    return short.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
    ).stdout.strip()
