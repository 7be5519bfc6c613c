"""The trainer as the harness meets it: whole processes, requests in, events and exit status out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import CONTEXT, EMBEDDED, Event, Talk
from hexapla_native_trainer.order import shuffled, splitmix64
from hexapla_native_trainer.spec import parse_spec
from hexapla_native_trainer.strict_json import parse


def request(name: str, **keys: Any) -> dict[str, Any]:
    return {"protocol": 1, "id": name, "request": name, **keys}


def of(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["event"] == kind]


def training(train: dict[str, Any], output: Path, **changes: Any) -> dict[str, Any]:
    return request("train", context=CONTEXT, **{**train, "output": str(output), **changes})


BITS = ("loss_bits", "gradient_norm_bits", "learning_rate_bits", "batch_digest")


def trace(events: list[Event]) -> list[Any]:
    """All that must be equal bit for bit between two runs."""
    steps = [tuple(event[key] for key in BITS) for event in of(events, "step")]
    evaluations = [(event["total_bits"], event["adapter_digest"]) for event in of(events, "evaluation")]
    saved = [(e["step"], e["adapter_digest"], e["optimizer_digest"]) for e in of(events, "checkpoint")]
    return [steps, evaluations, saved]


def test_hello_names_itself_and_bye_finds_nothing_live(talk: Talk):
    events, status = talk(request("hello"))
    assert [event["event"] for event in events] == ["hello", "done", "bye"]
    assert (events[0]["implementation"], events[0]["language"], events[0]["stack"]) == (
        "native",
        "Python",
        "core",
    )
    assert events[-1]["handles_live"] == events[-1]["bytes_live"] == status == 0


def test_abi_is_skipped_with_the_reason(talk: Talk):
    events, status = talk(request("abi"))
    assert events[0]["event"] == "skipped"
    assert "no C struct" in events[0]["reason"]
    assert status == 0


def test_migrating_and_collector_change_no_bit(talk: Talk, train: dict[str, Any], tmp_path: Path):
    plain, status = talk(training(train, tmp_path / "a"))
    assert status == 0
    assert len(of(plain, "step")) == train["spec"]["updates"]
    other, status = talk(training(train, tmp_path / "b", schedule="migrating", release="collector"))
    assert status == 0
    assert trace(other) == trace(plain)


def test_stop_and_resume_equals_no_interruption(talk: Talk, train: dict[str, Any], tmp_path: Path):
    whole, _ = talk(training(train, tmp_path / "whole"))
    first, _ = talk(training(train, tmp_path / "first", stop_after=5))
    assert of(first, "done")[0]["stopped"] is True
    folder = of(first, "checkpoint")[-1]["path"]
    second, status = talk(training(train, tmp_path / "second", resume_from=folder))
    assert status == 0
    assert trace(first)[0] + trace(second)[0] == trace(whole)[0]
    assert trace(second)[2][-1] == trace(whole)[2][-1]


def test_end_of_stdin_stops_between_updates(talk: Talk, train: dict[str, Any], tmp_path: Path):
    events, status = talk(training(train, tmp_path / "out"), keep_open=False)
    assert events[-2]["event"] == "done"
    assert events[-2]["stopped"] is True
    assert events[-1] == {"id": "", "event": "bye", "handles_live": 0, "bytes_live": 0}
    assert status == 0


def test_loss_that_is_not_finite_ends_the_run(talk: Talk, train: dict[str, Any], tmp_path: Path):
    spec = {**train["spec"], "learning_rate": 1e30}
    events, status = talk(training(train, tmp_path / "out", spec=spec))
    (error,) = of(events, "error")
    assert error["status"] == "non_finite"
    assert events[-1]["handles_live"] == 0
    assert status == 1


def test_checkpoint_that_exists_is_refused_before_the_first_update(
    talk: Talk, train: dict[str, Any], tmp_path: Path
):
    (tmp_path / "checkpoint-000008").mkdir()
    events, _ = talk(training(train, tmp_path))
    assert [event["event"] for event in events] == ["error", "bye"]
    assert events[0]["status"] == "io"


REFUSED = [
    ({"stop_after": 13}, "request", "stop_after"),
    ({"spec_digest": 1}, "request", "spec_digest"),
    ({"surplus": 1}, "request", "surplus"),
    ({"schedule": "drifting"}, "request", "schedule"),
    ({"model": "/nonexistent"}, "checkpoint", "/nonexistent/config.json"),
    ({"tokenizer": "/nonexistent"}, "HXP_IO", "/nonexistent"),
    ({"train": "/nonexistent"}, "io", "/nonexistent"),
]


def test_refusals_name_status_and_place(talk: Talk, train: dict[str, Any], tmp_path: Path):
    events, code = talk(*(training({**train, **changes}, tmp_path / "out") for changes, _, _ in REFUSED))
    said = [(event["event"], event["status"], event["where"]) for event in events[:-1]]
    assert said == [("error", status, where) for _, status, where in REFUSED]
    assert code == 1


@pytest.mark.parametrize("key", ["seed", "rank", "targets", "decay_floor"])
def test_specification_without_a_key_is_refused(talk: Talk, train: dict[str, Any], tmp_path: Path, key: str):
    spec = {name: value for name, value in train["spec"].items() if name != key}
    events, _ = talk(training(train, tmp_path / "out", spec=spec))
    assert (events[0]["status"], events[0]["where"]) == ("spec", key)


UNREADABLE = [
    b"",
    b"[1]",
    b"\xff",
    b'{"id":"a","id":"b"}',
    b'{"id":"\\ud800"}',
    b'{"id":"a"} x',
    b'{"id":1e999}',
]


def test_requests_that_cannot_be_read_end_in_status_two(talk: Talk):
    events, status = talk(*UNREADABLE)
    assert [(event["event"], event["id"]) for event in events[:-1]] == [("error", "")] * len(UNREADABLE)
    assert status == 2


def test_load_leaves_the_tied_head_out(talk: Talk):
    events, status = talk(request("load", model=str(EMBEDDED / "model"), context=CONTEXT))
    names = [event["name"] for event in of(events, "tensor")]
    assert names == sorted(names, key=str.encode)
    assert "lm_head.weight" not in names
    assert status == 0


def test_strict_json_counts_depth_outside_strings():
    deep = b"[" * 64 + b"]" * 64
    assert parse(deep)
    with pytest.raises(ValueError, match="nested"):
        parse(b"[" + deep + b"]")
    assert parse(b'["' + b"[" * 100 + b'\\""]')


def test_order_has_the_specifications_check_values(train: dict[str, Any]):
    assert next(splitmix64(0)) == 0xE220A8397B1DCDAF
    assert shuffled(10, 1, 0) == [9, 7, 4, 0, 3, 8, 2, 5, 1, 6]
    assert shuffled(10, 1, 1) == [1, 6, 3, 2, 4, 5, 9, 8, 0, 7]
    tiny = parse_spec({**train["spec"], "updates": 60, "warmup_updates": 2})
    assert tiny.learning_rate_at(1).hex() == float.fromhex("0x1.0624dep-10").hex()


def test_collector_run_under_a_limit_ends_well(talk: Talk, train: dict[str, Any], tmp_path: Path):
    """Lost temporaries pile up to the limit; without the hook the run ends in HXP_OUT_OF_MEMORY."""
    limited = {**CONTEXT, "memory_limit": 16 << 20}
    keys = {**train, "output": str(tmp_path / "out"), "release": "collector", "context": limited}
    events, status = talk(request("train", **keys))
    (done,) = of(events, "done")
    assert done["device_bytes_peak"] <= 16 << 20
    assert done["handles_live"] == status == 0
