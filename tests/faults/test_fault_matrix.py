"""How a cell of the fault matrix is judged, and what the written page says; no fault is run here."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_matrix import Cell, Ran, Verdict, judge, write_matrix
from hexapla.faults import CatalogueEntry
from hexapla.protocol.results import Line, Outcome

ENTRY = CatalogueEntry(
    id="runtime-tested",
    axis="runtime",
    switch="core-build",
    summary="One line.",
    caught={"threads": "parts", "memory": ""},
    silent=("trajectory", "checkpoint"),
    reaches=frozenset({"c", "go"}),
    reaches_at={"memory": frozenset({"go"})},
    moves=True,
)


def judged(folder: Path, where: str, outcome: Outcome, reason: str = "", applied: str = "c go") -> Cell:
    """where: implementation and level; applied: the implementations that said that the fault acted."""
    implementation, level = where.split()
    line = Line(implementation, "none", level, outcome, reason)
    ran = Ran(folder, {(implementation, level): line}, "tested", frozenset(applied.split()))
    return judge(ENTRY, implementation, level, ran)


@pytest.mark.parametrize(
    ("where", "outcome", "reason", "verdict"),
    [
        ("c threads", Outcome.FAIL, "it parts", Verdict.CAUGHT),
        ("c threads", Outcome.FLAKY, "it parts", Verdict.CAUGHT),
        ("c threads", Outcome.FAIL, "it stops", Verdict.OTHER_WORDS),
        ("c threads", Outcome.PASS, "", Verdict.ESCAPED),
        ("c threads", Outcome.BLOCKED, "", Verdict.ESCAPED),
        ("c threads", Outcome.SKIPPED, "", Verdict.ESCAPED),
        ("go memory", Outcome.FAIL, "", Verdict.CAUGHT),
        ("c memory", Outcome.PASS, "", Verdict.SILENT),
        ("c memory", Outcome.FAIL, "", Verdict.FALSE_ALARM),
        ("zig threads", Outcome.PASS, "", Verdict.SILENT),
        ("zig threads", Outcome.FAIL, "it parts", Verdict.FALSE_ALARM),
        ("c trajectory", Outcome.PASS, "", Verdict.SILENT),
        ("c trajectory", Outcome.NOT_APPLICABLE, "", Verdict.SILENT),
        ("c trajectory", Outcome.FAIL, "", Verdict.FALSE_ALARM),
        ("c trajectory", Outcome.UNKNOWN, "", Verdict.FALSE_ALARM),
    ],
)
def test_verdict(where: str, outcome: Outcome, reason: str, verdict: Verdict, tmp_path: Path) -> None:
    assert judged(tmp_path, where, outcome, reason).verdict is verdict


def test_what_was_not_applied_was_not_caught(tmp_path: Path) -> None:
    assert judged(tmp_path, "c threads", Outcome.FAIL, "parts", "go").verdict is Verdict.NOT_APPLIED


def test_an_alarm_in_a_pinned_run_that_was_moved_is_a_true_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the ledgers of that level and of that implementation, those of migrating runs apart."""
    moves = {"go/train.bin": 2, "go/threads-migrating.bin": 5, "c/train.bin": 0}
    for name in moves:
        (tmp_path / "ledger" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ledger" / name).touch()
    monkeypatch.setattr(
        "fault_matrix.moves_of", lambda path: moves[str(path.relative_to(tmp_path / "ledger"))]
    )
    moved = judged(tmp_path, "go trajectory", Outcome.FAIL, "it parts")
    assert (moved.verdict, moved.moves) == (Verdict.MOVED, 2)
    assert judged(tmp_path, "c trajectory", Outcome.FAIL).verdict is Verdict.FALSE_ALARM
    assert judged(tmp_path, "go trajectory", Outcome.UNKNOWN).verdict is Verdict.FALSE_ALARM
    for name, verdict in (("go", Verdict.BEHIND), ("c", Verdict.FALSE_ALARM)):
        lines = {
            (name, "trajectory"): Line(name, "none", "trajectory", Outcome.FAIL),
            (name, "checkpoint"): Line(name, "none", "checkpoint", Outcome.BLOCKED),
        }
        ran = Ran(tmp_path, lines, "tested", frozenset())
        assert judge(ENTRY, name, "checkpoint", ran).verdict is verdict


def test_the_page_says_what_is_wrong(tmp_path: Path) -> None:
    good = judged(tmp_path, "c threads", Outcome.FAIL, f"it parts in {tmp_path}/x")
    bad = judged(tmp_path, "c trajectory", Outcome.FAIL, "a | b")
    write_matrix(tmp_path / "page.md", [good, bad], ["c"], 60.0)
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "not as the catalogue says: 1" in page and "WRONG 1" in page and "**caught 1**" in page
    assert "- false alarm: tested in c at trajectory: fail a \\| b" in page
    assert str(tmp_path) not in page and "HEXAPLA_FAULT_BINDINGS=c " in page
