"""The level `ownership` on answers, ledgers and balances that are wrong in one known way each."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hexapla.levels.checks import carry_out
from hexapla.levels.ownership import SCENARIOS, judge_bye, judge_input_end, play
from hexapla.protocol import Bye, Done, Outcome
from synthetic_ledgers import Entry, write_ledger
from synthetic_sessions import ScriptedSession, Seen

STALE = "HXP_STALE_HANDLE"
GOOD: dict[str, Seen] = {
    "accessors": {"value": "1 2 3 4", "statuses": "HXP_OK"},
    "copies": {"value": "2 3 4 5", "statuses": "HXP_OK"},
    "drop_orders": {"orders": 120, "failed": 0},
    "double_release": {"status": STALE},
    "use_after_release": {"status": STALE},
    "release_elsewhere": {"status": "HXP_OK"},
    "close_race": {"rounds": 1000, "wrong": 0, "statuses": f"{STALE},HXP_OK"},
    "finaliser_race": {"rounds": 2000, "wrong": 0, "statuses": "HXP_OK"},
}
BAD: list[tuple[str, Seen]] = [
    ("accessors", {"value": "0 0 0 0"}),
    ("accessors", {"statuses": f"HXP_OK,{STALE}"}),
    ("copies", {"value": "1 2 3 4"}),
    ("copies", {"value": "sum 0"}),
    ("drop_orders", {"failed": 1}),
    ("drop_orders", {"orders": 119}),
    ("double_release", {"status": "HXP_OK"}),
    ("use_after_release", {"status": "HXP_OK"}),
    ("release_elsewhere", {"status": "HXP_WRONG_THREAD"}),
    ("close_race", {"wrong": 1}),
    ("close_race", {"rounds": 999}),
    ("close_race", {"statuses": "HXP_OK,HXP_INTERNAL"}),
    ("close_race", {"statuses": ""}),
    ("finaliser_race", {"wrong": 1}),
    ("finaliser_race", {"rounds": 0}),
    ("finaliser_race", {"statuses": f"HXP_OK,{STALE}"}),
]


def outcome(
    scenario: str, seen: Seen | None, ledger: Path | None = None, language: str = "Go"
) -> tuple[Outcome, str]:
    session = ScriptedSession({scenario: seen}, ledger=ledger, language=language)
    parameters, judge = SCENARIOS[scenario]
    checked = carry_out(scenario, partial(play, session, scenario, parameters, judge))  # type: ignore[arg-type]
    return checked.outcome, checked.words


def test_right_answers_pass() -> None:
    assert GOOD.keys() == SCENARIOS.keys()
    for scenario, seen in GOOD.items():
        assert outcome(scenario, seen) == (Outcome.PASS, "")


@pytest.mark.parametrize("language", ["C", "Rust", "Zig", "Fortran"])
def test_only_what_a_language_may_lack_is_not_applicable(language: str) -> None:
    for scenario in SCENARIOS:
        said = outcome(scenario, None, language=language)
        if scenario == "finaliser_race":
            assert said == (Outcome.NOT_APPLICABLE, "")
        else:
            assert said == (Outcome.SKIPPED, f"{scenario}: this language has none")


@pytest.mark.parametrize("language", ["Go", "java", "JavaScript", "Python"])
def test_a_language_that_collects_has_finalisers(language: str) -> None:
    assert outcome("finaliser_race", None, language=language)[0] is Outcome.SKIPPED


@pytest.mark.parametrize(("scenario", "change"), BAD)
def test_a_wrong_answer_fails(scenario: str, change: Seen) -> None:
    found, words = outcome(scenario, GOOD[scenario] | change)
    assert found is Outcome.FAIL and words.startswith(f"{scenario}: ")


def test_the_ledger_names_the_fault_whatever_the_trainer_says(tmp_path: Path) -> None:
    missing = [
        Entry("tensor_create", 2),
        Entry("tensor_retain", 2, 3),
        Entry("tensor_release", 2, 3),
        Entry("tensor_release", 2, 3, status=STALE),
    ]
    ledger = write_ledger(tmp_path / "missing.bin", missing)
    found, words = outcome("copies", GOOD["copies"], ledger)
    assert found is Outcome.FAIL and "missing share by tensor_retain in update 3" in words
    leak = write_ledger(tmp_path / "leak.bin", missing[:1])
    assert "leak by tensor_create" in outcome("accessors", GOOD["accessors"], leak)[1]
    assert "leak by tensor_create" in outcome("copies", {"value": "0", "statuses": "HXP_OK"}, leak)[1]


def test_what_a_scenario_means_to_do_is_no_fault(tmp_path: Path) -> None:
    twice = [
        Entry("tensor_create", 2),
        Entry("tensor_release", 2),
        Entry("tensor_release", 2, status=STALE),
    ]
    ledger = write_ledger(tmp_path / "twice.bin", twice)
    assert outcome("double_release", GOOD["double_release"], ledger)[0] is Outcome.PASS
    balanced = write_ledger(tmp_path / "balanced.bin", twice[:2])
    assert "no double release" in outcome("double_release", GOOD["double_release"], balanced)[1]
    assert "double release by tensor_release" in outcome("copies", GOOD["copies"], ledger)[1]


def test_the_balance_at_bye() -> None:
    assert judge_bye(Bye("b", 0, 0)).problem == ""
    assert judge_bye(Bye("b", 3, 64)).problem == "3 handles and 64 bytes live at bye"
    assert judge_bye(Bye("b", 0, 64)).problem
    assert judge_bye(Bye("b", None, None)).unknown and judge_bye(None).unknown


def test_the_end_of_input() -> None:
    stopped, ended = Done("t", {"step": 2, "stopped": True}), Done("t", {"step": 12, "stopped": False})
    assert judge_input_end(stopped, [1, 2], Bye("", 0, 0)).problem == ""
    assert judge_input_end(stopped, [1, 2], Bye("", 1, 0)).problem == "1 handles and 0 bytes live at bye"
    assert "all 12 updates" in judge_input_end(ended, list(range(1, 13)), Bye("", 0, 0)).unknown
