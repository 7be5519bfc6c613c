"""The oracle's manners: strict lines, unknown keys, skipped requests, exit statuses, the end of stdin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracle_support import CONTEXT, ask, of_kind, request, speak, write_run, write_tokenizer

UNREADABLE = {
    "utf8": b'{"protocol": 1, "id": "\xff", "request": "hello"}',
    "bom": b"\xef\xbb\xbf" + request("hello").strip(),
    "empty": b"",
    "white": b" \r",
    "behind": request("hello").strip() + b" {}",
    "duplicate": b'{"protocol": 1, "id": "a", "id": "a", "request": "hello"}',
    "escaped_duplicate": b'{"protocol": 1, "id": "a", "\\u0069d": "a", "request": "hello"}',
    "surrogate": b'{"protocol": 1, "id": "\\ud800", "request": "hello"}',
    "surrogate_key": b'{"protocol": 1, "id": "a", "request": "hello", "\\udc00": 1}',
    "infinite": b'{"protocol": 1e999, "id": "a", "request": "hello"}',
    "huge": b'{"protocol": 1' + b"0" * 400 + b', "id": "a", "request": "hello"}',
    "nan": b'{"protocol": NaN, "id": "a", "request": "hello"}',
    "deep": b'{"protocol": 1, "id": "a", "request": "hello", "x": ' + b"[" * 64 + b"]" * 64 + b"}",
    "list": b"[]",
    "no_id": b'{"protocol": 1, "request": "hello"}',
    "long": b'"' + b"x" * (16 * 2**20) + b'"',
}


def test_unreadable_requests_are_answered_and_survived() -> None:
    """Each ends in `error` with id "" and its line number; the next request works; the exit status is 2."""
    events, status = speak(*(line + b"\n" for line in UNREADABLE.values()), request("hello", "after"))
    errors = dict(zip(UNREADABLE, events, strict=False))
    for number, (name, error) in enumerate(errors.items(), start=1):
        assert (error["id"], error["event"], error["status"]) == ("", "error", "request"), name
        assert error["where"] == f"stdin:{number}" and "\n" not in error["message"], name
    assert [event["event"] for event in events[len(errors) :]] == ["hello", "done", "bye"]
    assert status == 2


def test_lines_that_look_wrong_and_are_not() -> None:
    """A carriage return is white space, 64 levels are allowed, odd characters are data, pairs join."""
    odd = json.dumps("\u0000\u2028\u0085\ufeff", ensure_ascii=False)
    lines = [
        request("hello").strip() + b"\r\n",
        b'{"protocol": 1, "id": "\\ud83d\\ude00", "request": "hello"}\n',
        f'{{"protocol": 1, "id": {odd.replace(chr(0), chr(92) + "u0000")}, "request": "hello"}}\n'.encode(),
        b'{"protocol": 1, "id": "deep", "request": "x", "x": ' + b"[" * 63 + b"]" * 63 + b"}\n",
        b'{"protocol": 1, "id": "[[[", "request": "hello"}\n',
    ]
    events, status = speak(*lines)
    ends = [(event["id"], event["event"]) for event in events if event["event"] != "hello"]
    expected = ["r", "😀", "\u0000\u2028\u0085\ufeff"]
    assert ends == [
        *((name, "done") for name in expected),
        ("deep", "skipped"),
        ("[[[", "done"),
        ("bye", "bye"),
    ]
    assert status == 0


def test_hello_names_what_it_can_do() -> None:
    events = ask("hello")
    hello = events[0]
    assert set(hello) == {
        *("id", "event", "protocol", "implementation", "language", "runtime", "stack", "core", "faults"),
        "capabilities",
    }
    assert (hello["implementation"], hello["stack"], hello["core"], hello["faults"]) == (
        "oracle",
        "numpy",
        None,
        [],
    )
    assert hello["capabilities"] == ["hello", "operators", "load", "render", "evaluate", "train", "bye"]


def test_what_it_cannot_do_is_skipped(tmp_path: Path) -> None:
    """Never silence, and the exit status stays 0."""
    keys = write_run(tmp_path)
    load = {"model": keys["model"]}
    events, status = speak(
        request("abi"),
        request("probe", scenario="copies", parameters={}),
        request("sing", volume=11),
        request("train", **keys | {"schedule": "migrating"}),
        request("train", **keys | {"release": "collector"}),
        request("load", **load, context=CONTEXT | {"ledger": "/tmp/ledger"}),
        request("load", **load, context=CONTEXT | {"memory_limit": 1}),
        request("load", **load, context=CONTEXT | {"spill": True}),
        request("load", **load, context=CONTEXT | {"device": "cuda:0"}),
    )
    assert [event["event"] for event in events] == ["skipped"] * 9 + ["bye"]
    assert all(event["reason"] for event in events[:-1])
    assert status == 0


def test_bad_keys_of_a_request_are_named() -> None:
    """Missing, unknown, out of range; another protocol. The trainer lives on and ends with 1."""
    render = {"tokenizer": "/t", "records": "/r", "template": "qwen3", "length": 8}
    missing = {key: value for key, value in render.items() if key != "length"}
    other = b'{"protocol": 2, "id": "r", "request": "hello"}\n'
    lines = {
        "length": request("render", **missing),
        "colour": request("render", **render, colour=1),
        "records": request("render", **render | {"records": "relative"}),
        "template": request("render", **render | {"template": "alpaca"}),
        "threads": request("load", model="/m", context=CONTEXT | {"threads": 0}),
        "spill": request("load", model="/m", context=CONTEXT | {"spill": 1}),
        "protocol": other,
    }
    events, status = speak(*lines.values(), request("hello"))
    errors = of_kind(events, "error")
    assert [error["where"] for error in errors] == list(lines)
    assert {error["status"] for error in errors} == {"request"}
    assert events[-2]["event"] == "done" and status == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 2**31), ("seed", -1), ("updates", 0), ("batch", 1.5), ("micro_batch", 5), ("length", 1),
        ("learning_rate", 0), ("warmup_updates", 7), ("decay", "step"), ("decay_floor", 1.1), ("beta1", 1),
        ("beta2", -0.1), ("epsilon", 0), ("weight_decay", -1), ("clip_norm", 0), ("rank", 0), ("alpha", 0),
        ("targets", ["q_proj", "q_proj"]), ("targets", ["lm_head"]), ("targets", []), ("evaluate_every", 0),
        ("save_every", True), ("template", "none"), ("precision", "bf16"), ("dropout", 0.0),
    ],
)  # fmt: skip
def test_bad_keys_of_the_specification_are_named(tmp_path: Path, key: str, value: object) -> None:
    keys = write_run(tmp_path)
    keys["spec"] = keys["spec"] | {key: value}
    (event,) = ask("train", **keys)
    assert (event["event"], event["status"], event["where"]) == ("error", "spec", key)
    assert key in event["message"]


def test_the_end_of_stdin_is_bye() -> None:
    events, status = speak(request("hello"), bye=False)
    assert events[-1] == {"id": "", "event": "bye", "handles_live": None, "bytes_live": None}
    assert status == 0


@pytest.mark.parametrize(
    "line", [value for key, value in UNREADABLE.items() if key not in ("list", "no_id", "long")]
)
def test_a_bad_record_line_is_refused_by_number(tmp_path: Path, line: bytes) -> None:
    """The same rules hold for record files; the file is refused before any record is shown."""
    records = tmp_path / "records.jsonl"
    records.write_bytes(b'{"id": "1", "question": "q", "answer": "a"}\r\n' + line + b"\n")
    tokenizer = str(write_tokenizer(tmp_path / "tokenizer"))
    (event,) = ask("render", tokenizer=tokenizer, records=str(records), template="qwen3", length=64)
    assert (event["status"], event["where"]) == ("record", f"{records}:2")


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "1", "question": "q", "answer": "a"}',
        '{"id": 2, "question": "q", "answer": "a"}',
        '{"id": "2", "question": "q"}',
        '{"id": "2", "question": "q", "answer": null}',
        '{"id": "2", "system": null, "question": "q", "answer": "a"}',
        "[]",
    ],
)
def test_a_record_with_wrong_keys_is_refused_by_number(tmp_path: Path, line: str) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text('{"id": "1", "question": "q", "answer": "a", "source": {}}\n' + line)
    tokenizer = str(write_tokenizer(tmp_path / "tokenizer"))
    (event,) = ask("render", tokenizer=tokenizer, records=str(records), template="qwen3", length=64)
    assert (event["status"], event["where"]) == ("record", f"{records}:2")
