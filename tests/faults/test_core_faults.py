"""Every fault of the core that can be made wrong is caught at the level the catalogue names, and only there.

One conformance run per fault, on `micro`: the implementations that the fault can reach must fail the levels
under `caught`, in words of the catalogue; those it cannot reach, and the levels under `silent`, must pass.
The same build with no fault on is the control. HEXAPLA_FAULT_BINDINGS names the implementations (default: c
and python), HEXAPLA_FAULTS the faults (default: all).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hexapla.cli import main
from hexapla.faults import NO_FAULT, CatalogueEntry, core_faults
from hexapla.protocol.results import LEVELS, Line, Outcome, read_results

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

EMBEDDED = Path(__file__).resolve().parents[2] / "harness/hexapla/data/embedded"
BINDINGS = os.environ.get("HEXAPLA_FAULT_BINDINGS", "c,python").split(",")
CHOSEN = os.environ.get("HEXAPLA_FAULTS", ",".join(core_faults())).split(",")
NUMERIC = ("abi", "operators", "loading", "rendering", "untrained", "trajectory", "checkpoint")
FOUND = {Outcome.FAIL, Outcome.FLAKY, Outcome.CRASHED, Outcome.TIMED_OUT}
HELD = {Outcome.PASS, Outcome.NOT_APPLICABLE}


@dataclass(frozen=True)
class Ran:
    """What a run says of each implementation at each level, and which of them said that the fault acted."""

    lines: dict[tuple[str, str], Line]
    core_fault: str
    applied: set[str]


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


def run(fault: str, levels: set[str], folder: Path, model: Path | None = None) -> Ran:
    # Both: core-driven trainers that are wrong together would outvote one reference.
    references = "all" if levels & set(NUMERIC) - {"abi"} else "none"
    words = ["conform", "--spec", "micro", "--references", references, "--core-fault", fault]
    words += [word for name in BINDINGS for word in ("--binding", name)]
    words += [word for level in sorted(levels) for word in ("--level", level)]
    words += ["--model", str(model)] if model else []
    main([*words, "--results", str(folder)])
    read = read_results(folder)
    assert read.finished and read.header is not None
    line = f"hexapla: fault {fault} applied".encode()
    logs = {name: folder / "stderr" / f"{name}.log" for name in BINDINGS}
    applied = {name for name, log in logs.items() if log.exists() and line in log.read_bytes()}
    return Ran(
        {(each.implementation, each.level): each for each in read.lines}, read.header.core_fault, applied
    )


def test_without_a_fault_everything_holds(tmp_path: Path) -> None:
    """The control: nothing that a fault's run finds comes from the build itself."""
    ran = run(NO_FAULT, set(LEVELS), tmp_path / "run")
    mixed = run(NO_FAULT, {"loading"}, tmp_path / "mixed", write_mixed_model(tmp_path / "model"))
    assert ran.core_fault == NO_FAULT and not ran.applied
    parted = [line for line in (*ran.lines.values(), *mixed.lines.values()) if line.outcome not in HELD]
    assert not parted, [(line.implementation, line.level, line.reason) for line in parted]


@pytest.mark.parametrize("name", CHOSEN)
def test_fault_is_caught_where_the_catalogue_says(name: str, tmp_path: Path) -> None:
    entry = core_faults()[name]
    model = write_mixed_model(tmp_path / "model") if entry.model == "mixed" else None
    ran = run(name, {*entry.caught, *entry.silent}, tmp_path / "run", model)
    assert ran.core_fault == name
    problems = [words for each in BINDINGS for words in judge(entry, each, ran)]
    assert not problems, "\n".join(problems)


def judge(entry: CatalogueEntry, implementation: str, ran: Ran) -> list[str]:
    """What is otherwise than the catalogue says, of one implementation."""
    reached = entry.can_reach(implementation)
    problems = []
    if reached and implementation not in ran.applied:
        problems.append(f"{implementation}: the fault was never applied")
    for level in {*entry.caught, *entry.silent}:
        line = ran.lines[implementation, level]
        said = f"{implementation} at {level}: {line.outcome} {line.reason}"
        if not (reached and level in entry.caught):
            if line.outcome not in HELD:
                problems.append(f"false alarm: {said}")
        elif line.outcome not in FOUND:
            problems.append(f"escaped: {said}")
        elif entry.caught[level] not in line.reason:
            problems.append(f"not named {entry.caught[level]!r}: {said}")
    return problems
