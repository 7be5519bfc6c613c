"""Case C3 (c) with real trainers: memory ends in the middle of update 3, and nothing is left of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from crew import EMBEDDED, Crew, Place
from hexapla.levels.level import Inputs
from hexapla.levels.ownership_runs import Runs

LANGUAGES = ("c", "go", "java", "python", "rust", "zig", "native")


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_run_fails_in_update_3_and_gives_all_back(
    crew: Crew, micro: Place, name: str, tmp_path: Path
) -> None:
    inputs = Inputs(
        spec=micro.spec,
        model=micro.model,
        tokenizer=micro.tokenizer,
        train=micro.train,
        heldout=micro.heldout,
        adapter=micro.adapter,
        render_files={},
        render_length=int(micro.spec["length"]),
        work=tmp_path,
        headers=EMBEDDED,
    )
    session = crew.session(name)
    attempt = Runs(session, inputs, tmp_path).fails()
    assert (attempt.problem, attempt.unknown) == ("", "")
    assert attempt.figures["failed_in_update"] == 3
    assert session.running.failure is None  # it lives, and takes the next request
