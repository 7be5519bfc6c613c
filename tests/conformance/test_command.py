"""The front door on real input: sources, real tokenizer and a real trainer through `hexapla conform`.

A small share of what `nox -s conformance -- --corpus … --tokenizer …` does: one source of 150 rows, and the
levels that need no training at the real vocabulary.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from crew import shared
from hexapla.cli import main
from hexapla.protocol import Outcome
from hexapla.protocol.results import read_results

ROWS = 150
EMBEDDED_ROWS = 492


def test_real_rows_with_the_real_tokenizer(
    tmp_path: Path, qwen3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXAPLA_CACHE", str(tmp_path / "cache"))
    lines = shared("clinical", "medqa", "us_4opt_test.jsonl").read_bytes().splitlines(keepends=True)
    sources = tmp_path / "sources" / "medqa"
    sources.mkdir(parents=True)
    (sources / "us_4opt_test.jsonl").write_bytes(b"".join(lines[:ROWS]))
    words = ["--corpus", str(sources.parent), "--tokenizer", str(qwen3), "--spec", "micro", "--binding", "c"]
    words += ["--references", "oracle", "--level", "loading", "--level", "rendering"]
    assert main(["conform", "--results", str(tmp_path / "run"), *words]) == 0
    read = read_results(tmp_path / "run")
    assert read.finished
    assert {(line.implementation, line.level): line.outcome for line in read.lines} == {
        (name, level): Outcome.PASS for name in ("oracle", "c") for level in ("loading", "rendering")
    }
    compared = {line.implementation: line.figures for line in read.lines if line.level == "rendering"}["c"]
    assert compared == {"records_compared": ROWS + EMBEDDED_ROWS, "records_different": 0}
