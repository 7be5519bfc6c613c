"""Case C3's runs on made-up answers: what counts as failing in update 3, and where the limit is put."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hexapla.data.order import epoch_order
from hexapla.levels.account import Account
from hexapla.levels.level import Inputs
from hexapla.levels.ownership_runs import FAILING_UPDATE, heavy_third, judge_failed, limit_between
from hexapla.protocol import Error
from hexapla.spec import load_spec

WORDS = "need 4096 bytes, live 100, limit 200, live handles 3"
REFUSED = Error("t", "HXP_OUT_OF_MEMORY", WORDS, "update 3")
CLEAN = Account(peaks={0: 5, 1: 10, 2: 10, 3: 90}, refusals=1, left_bytes=0, left_handles=0)


def test_the_right_failure_passes() -> None:
    assert judge_failed(REFUSED, [1, 2], CLEAN) == ""


@pytest.mark.parametrize(
    ("error", "heard", "account", "words"),
    [
        (replace(REFUSED, status="internal"), [1, 2], CLEAN, "ended in internal"),
        (replace(REFUSED, message="out of memory"), [1, 2], CLEAN, "core's words"),
        (REFUSED, [1], CLEAN, "fail in update 3, and said the updates [1]"),
        (REFUSED, [1, 2, 3], CLEAN, "fail in update 3"),
        (REFUSED, [1, 2], replace(CLEAN, refusals=0), "no call refused"),
        (REFUSED, [1, 2], replace(CLEAN, left_bytes=64), "left 64 bytes"),
        (REFUSED, [1, 2], replace(CLEAN, left_handles=2), "2 handles live"),
        (REFUSED, [1, 2], replace(CLEAN, left_bytes=None), "cannot be read"),
    ],
)
def test_any_other_does_not(error: Error, heard: list[int], account: Account, words: str) -> None:
    assert words in judge_failed(error, heard, account)


def test_the_limit_lies_between_update_3_and_all_before_it() -> None:
    assert limit_between(CLEAN) == 50
    assert limit_between(Account(peaks={0: 95, 1: 10, 2: 10, 3: 90})) == 0
    assert limit_between(Account(peaks={1: 10, 2: 10})) == limit_between(Account()) == 0


def test_the_records_of_update_3_are_the_long_ones(tmp_path: Path) -> None:
    spec = load_spec("micro")
    nowhere = Path("/nowhere")
    given = Inputs(spec, nowhere, nowhere, nowhere, nowhere, nowhere, {}, 64, work=tmp_path, headers=nowhere)
    inputs, spec = heavy_third(given, tmp_path / "made")
    answers = [json.loads(line)["answer"] for line in inputs.train.read_text("utf-8").splitlines()]
    batch = int(spec["batch"])
    order = epoch_order(int(spec["seed"]), 0, len(answers))
    long = [len(answers[each]) > int(spec["length"]) for each in order]
    assert len(answers) == FAILING_UPDATE * batch
    assert long == [False] * 2 * batch + [True] * batch
    assert spec["updates"] == FAILING_UPDATE
