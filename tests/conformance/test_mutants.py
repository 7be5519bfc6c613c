"""One changed value in one real trainer makes the run fail at the level that the fault catalogue names, and
the words say who, where and by how much.

A mutant is asked and judged by the harness's own Run beside torch, the oracle and c, whose answers are asked
for once and replayed: they do not depend on the mutant.
"""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crew import Crew
from hexapla.commands.inputs import prepare
from hexapla.commands.participants import launch_of
from hexapla.levels import all_levels
from hexapla.levels.level import AnyLevel, Finding, Inputs, Level
from hexapla.levels.run import Hooks, Participant, Run
from hexapla.levels.session import ContextChoice, Session
from hexapla.process import Launch
from hexapla.protocol import Line, Outcome
from hexapla.toolchains import ToolchainMissing, build_binding, load_manifest
from mutants import C_MUTANTS, LANGUAGE_MUTANTS, OTHER_MUTANTS, SOURCES, Mutant, make_mutant

LEVELS = ("operators", "loading", "rendering", "untrained", "trajectory")
SOUND = {"torch": "torch", "oracle": "numpy", "c": "core"}


class Replayed(Level[Any]):
    """A level that knows the answers of some implementations already."""

    def __init__(self, level: AnyLevel, known: Mapping[str, Any]) -> None:
        self._level, self._known = level, known
        self.name, self.stands_on = level.name, level.stands_on  # type: ignore[misc]

    def observe(self, session: Session, inputs: Inputs) -> Any:
        if session.name in self._known:
            return self._known[session.name]
        return self._level.observe(session, inputs)

    def judge(
        self, observed: Mapping[str, Any], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        return self._level.judge(observed, stacks, inputs)


class Bench:
    """The inputs of a micro run and what the sound implementations say of them."""

    def __init__(self, crew: Crew, folder: Path) -> None:
        words = Namespace(spec="micro", corpus=None, tokenizer=None, model=None)
        self._crew, self._inputs = crew, prepare(words, crew.places, folder)
        self._known: dict[str, dict[str, Any]] = {}

    def run(self, binding: Path, folder: Path) -> dict[tuple[str, str], Line]:
        """Lines by implementation and level of a run of the sound ones and this binding."""
        manifest = load_manifest(binding)
        places = replace(self._crew.places, build=folder / "build")
        try:
            built = build_binding(manifest, places, self._crew.core if manifest.needs_core else None)
        except ToolchainMissing as missing:
            pytest.skip(str(missing))
        choice = ContextChoice("cpu:0", 1)
        sessions = {name: Session(_nothing(name, folder), choice, lambda *_: None) for name in SOUND}
        sessions[manifest.name] = Session(launch_of(built, folder / "results"), choice, lambda *_: None)
        stacks = {**SOUND, manifest.name: manifest.stack}
        participants = [Participant(name, stacks[name], {}, each) for name, each in sessions.items()]
        lines: list[Line] = []
        hooks = Hooks(lines.append, lambda *_: None, lambda *_: None)
        run = Run(participants, replace(self._inputs, work=folder / "work"), hooks, lambda *_: "")
        run.go_through(
            [Replayed(level, self._answers(level)) for level in all_levels() if level.name in LEVELS]
        )
        return {(line.implementation, line.level): line for line in lines}

    def _answers(self, level: AnyLevel) -> dict[str, Any]:
        if level.name not in self._known:
            self._known[level.name] = {
                name: level.observe(self._crew.session(name), self._inputs) for name in SOUND
            }
        return self._known[level.name]


def _nothing(name: str, folder: Path) -> Launch:
    """A launch that is never started: its answers are known."""
    return Launch(name, ["/never/started"], folder, dict(os.environ), "none", 1.0, folder)


def manifest_stack(mutant: Mutant) -> str:
    """The stack that the mutant's base says it has."""
    return load_manifest(SOURCES[mutant.base]).stack


@pytest.fixture(scope="module")
def bench(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(crew, tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize(
    "mutant", [*C_MUTANTS, *OTHER_MUTANTS, *LANGUAGE_MUTANTS], ids=lambda mutant: mutant.name
)
def test_one_changed_value(bench: Bench, tmp_path: Path, mutant: Mutant) -> None:
    lines = bench.run(make_mutant(mutant, tmp_path), tmp_path)
    mine = {level: lines[mutant.name, level] for level in LEVELS}
    said = {level: (line.outcome.value, line.reason) for level, line in mine.items()}
    failed = [level for level, line in mine.items() if line.outcome is Outcome.FAIL]
    assert failed == [mutant.level], said
    before = LEVELS[: LEVELS.index(mutant.level)]
    assert all(mine[level].outcome is Outcome.PASS for level in before), said
    behind = LEVELS[LEVELS.index(mutant.level) + 1 :]
    assert all(mine[level].outcome in (Outcome.PASS, Outcome.BLOCKED) for level in behind), said
    reason = mine[mutant.level].reason
    assert mutant.name in reason and re.search(mutant.words, reason), reason
    for (name, level), line in lines.items():
        assert name == mutant.name or line.outcome is Outcome.PASS, (name, level, line.reason)
    if manifest_stack(mutant) == "core" and mutant.level != "operators":
        assert mine[mutant.level].axis == "orchestration or runtime"


@pytest.mark.parametrize("base", [*SOURCES])
def test_an_unchanged_copy_passes(bench: Bench, tmp_path: Path, base: str) -> None:
    """The control: copying alone makes nothing fail."""
    binding = make_mutant(
        Mutant("control", base, "binding.toml", "protocol = 1", "protocol =  1", "", ""), tmp_path
    )
    lines = bench.run(binding, tmp_path)
    wrong = {
        key: (line.outcome, line.reason) for key, line in lines.items() if line.outcome is not Outcome.PASS
    }
    assert not wrong and len(lines) == (len(SOUND) + 1) * len(LEVELS)
