"""The names of checks that manifests and figures use are those that the levels ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hexapla.levels import all_levels, errors, ownership, survival, threads
from hexapla.levels.account import Account
from hexapla.levels.checks import Attempt, Checked
from hexapla.levels.memory import Memory
from hexapla.levels.memory_trials import Trials
from hexapla.protocol import LEVELS
from hexapla.protocol.checks import CHECKS
from test_level_memory import STACKS, inputs, sound


def named(checks: Iterable[str]) -> tuple[Checked, ...]:
    """All of them held, none of them tried."""
    return tuple(Checked(name, (Attempt(),)) for name in checks)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A session of which nothing is asked, and its inputs."""
    for module in (threads, ownership, errors, survival):
        monkeypatch.setattr(module, "carry_out_all", named)
        monkeypatch.setattr(module, "require_core", lambda _session: None, raising=False)
        monkeypatch.setattr(module, "train_keys", lambda *_: {}, raising=False)
    monkeypatch.setattr(survival, "carry_out", lambda name, _once: named([name])[0])
    monkeypatch.setattr(survival, "last_checkpoint", lambda _output: 6)
    nothing = SimpleNamespace(run=None)
    monkeypatch.setattr(threads, "train", lambda *_: nothing)
    monkeypatch.setattr(survival, "train", lambda *_: nothing)
    session = SimpleNamespace(name="go", close=lambda: None)
    records = {"micro-train": tmp_path / "train", "micro-heldout": tmp_path / "heldout"}
    return session, replace(inputs(tmp_path), render_files=records)


def names(checked: Iterable[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in checked)


def test_names_are_told_apart() -> None:
    every = [*LEVELS, *(name for checks in CHECKS.values() for name in checks)]
    assert len(set(every)) == len(every)
    assert set(CHECKS) < {level.name for level in all_levels()}


def test_threads(asked: Any) -> None:
    assert names(threads.ThreadsLevel().observe(*asked)) == CHECKS["threads"]


def test_ownership(asked: Any) -> None:
    assert names(ownership.Ownership().observe(*asked)) == CHECKS["ownership"]


def test_errors(asked: Any) -> None:
    level, (session, given) = errors.Errors(), asked
    own = level.observe(session, given)
    both = {"go": level.observe_again(session, given, own, {"go": own, "c": own}), "c": own}
    assert names(level.judge(both, {"go": "core", "c": "core"}, given)["go"].checks) == CHECKS["errors"]


def test_memory(tmp_path: Path) -> None:
    session: Any = SimpleNamespace(name="go")
    tried = {
        name
        for collects in (True, False)
        for name in Trials(session, inputs(tmp_path), collects).checks(sound().run, Account())
    }
    seen = sound(collector=1)
    judged = Memory().judge({"c": sound(), "go": seen}, STACKS, inputs())["go"].checks
    assert {*names(judged), *tried} == {*CHECKS["memory"]}
