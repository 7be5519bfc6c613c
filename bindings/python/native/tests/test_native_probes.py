"""Every probe scenario once, small; the harness asks for the same in large."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import CONTEXT, Talk

STATUSES = [
    "HXP_OK",
    "HXP_INVALID_ARGUMENT",
    "HXP_OUT_OF_MEMORY",
    "HXP_STALE_HANDLE",
    "HXP_WRONG_KIND",
    "HXP_WRONG_THREAD",
    "HXP_BUSY",
    "HXP_DEVICE",
    "HXP_NO_GRADIENT",
    "HXP_IO",
    "HXP_FORMAT",
    "HXP_NOT_FOUND",
    "HXP_UNSUPPORTED",
    "HXP_INTERNAL",
]
STALE = {"status": "HXP_STALE_HANDLE"}
# Scenario, parameters, what must be seen; "train" is put in where the scenario wants one.
SCENARIOS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("device_of_context", {"workers": 4, "rounds": 20, "blocked": 4}, {"right": 80, "wrong": 0, "errors": 0}),
    ("error_text", {"workers": 4, "calls": 20}, {"own": 80, "foreign": 0, "empty": 0}),
    ("two_contexts", {"updates": 2, "train": None}, {"equal": 1}),
    ("drop_in_loop", {"bytes": 1 << 24, "turns": 50, "close": 1}, {"turns": 50, "failed_turn": 0}),
    ("drop_in_loop", {"bytes": 1 << 24, "turns": 50, "close": 0}, {"turns": 50, "failed_turn": 0}),
    ("cycles", {"bytes": 1 << 20, "turns": 50}, {"turns": 50, "difference_bytes": 0}),
    ("caught_errors", {"turns": 3, "train": None}, {"failed_turn": 0, "difference_bytes": 0}),
    ("scope", {"turns": 2, "train": None}, {"turns": 2, "difference_bytes": 0}),
    ("accessors", {"repeats": 3}, {"value": "1 2 3 4", "statuses": "HXP_OK"}),
    ("copies", {"repeats": 3}, {"value": "2 3 4 5", "statuses": "HXP_OK"}),
    ("drop_orders", {"seed": 1, "orders": 120}, {"orders": 120, "failed": 0}),
    ("double_release", {}, STALE),
    ("use_after_release", {}, STALE),
    ("release_elsewhere", {}, {"status": "HXP_OK"}),
    ("close_race", {"rounds": 50}, {"wrong": 0}),
    ("finaliser_race", {"rounds": 50}, {"wrong": 0, "statuses": "HXP_OK"}),
    *(("status", {"status": name}, {"status": name}) for name in STATUSES),
    ("callback_throws", {}, {"status": "HXP_OUT_OF_MEMORY", "surfaced": 1, "alive": 1}),
    (
        "fail_allocation",
        {"nth": 5, "persistent": False, "train": None},
        {"fired": 1, "status": "HXP_OUT_OF_MEMORY", "live_difference": 0},
    ),
    (
        "fail_allocation",
        {"nth": 1000000, "persistent": True, "train": None},
        {"fired": 0, "status": "HXP_OK", "live_difference": 0},
    ),
    ("write_fails", {"limit_bytes": 100000, "train": None}, {"status": "HXP_IO", "previous_loads": 1}),
]


def test_every_scenario_sees_what_it_must(talk: Talk, train: dict[str, Any]):
    requests = []
    for number, (name, parameters, _) in enumerate(SCENARIOS):
        filled = {key: train if key == "train" else value for key, value in parameters.items()}
        limit = 64 << 20 if name == "drop_in_loop" else 0
        context = {**CONTEXT, "memory_limit": limit}
        requests.append(
            {"protocol": 1, "id": str(number), "request": "probe", "scenario": name, "context": context}
            | {"parameters": filled}
        )
    events, status = talk(*requests)
    seen = {event["id"]: event["seen"] for event in events if event["event"] == "probe"}
    for number, (name, parameters, expected) in enumerate(SCENARIOS):
        got = seen[str(number)]
        assert {key: got[key] for key in expected} == expected, (name, parameters, got)
    assert events[-1]["handles_live"] == events[-1]["bytes_live"] == status == 0


@pytest.mark.parametrize("name", ["nothing", ""])
def test_unknown_scenario_is_skipped(talk: Talk, name: str):
    request = {"protocol": 1, "id": "p", "request": "probe", "scenario": name, "parameters": {}}
    events, status = talk({**request, "context": CONTEXT})
    assert events[0]["event"] == "skipped"
    assert status == 0
