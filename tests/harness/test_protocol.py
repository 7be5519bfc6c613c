"""Lines are read strictly, messages checked against the shipped schemas, events followed in order."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from hexapla.protocol import (
    LineError,
    SchemaError,
    float_bits,
    parse_event,
    parse_line,
    validate_event,
    validate_request,
    write_line,
)
from hexapla.protocol.order import Order, OrderError
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

REFUSED = [
    (b"\xff{}", "UTF-8"),
    (b"\xef\xbb\xbf{}", "byte-order mark"),
    (b"", "empty"),
    (b" \r\n", "empty"),
    (b"{} {}", "Extra data"),
    (b'{"a": 1, "a": 1}', "duplicate key 'a'"),
    (b'{"b": {"a": 1, "a": 2}}', "duplicate key 'a'"),
    (b'"\\ud800"', "surrogate"),
    (b'{"\\uDC00": 1}', "surrogate"),
    (b"NaN", "NaN"),
    (b"-Infinity", "Infinity"),
    (b"1e999", "not finite"),
    (b"1" + b"0" * 400, "not finite"),
    (b"1" * 5000, "not finite"),
    (b"[" * 65 + b"]" * 65, "nesting past 64"),
    (b'{"a":' * 65 + b"1" + b"}" * 65, "nesting past 64"),
    (b'{"a": 01}', "column"),
    (b'{"a": "\n"}', "control character"),
]


@pytest.mark.parametrize(("line", "word"), REFUSED)
def test_refused_lines(line: bytes, word: str) -> None:
    with pytest.raises(LineError) as caught:
        parse_line(line)
    assert word.lower() in str(caught.value).lower()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"a": 1}\r\n', {"a": 1}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('"\x00"'.replace("\x00", "\\u0000").encode(), "\0"),
        ('"\u2028\u0085"'.encode(), "\u2028\u0085"),
        (b"[" * 64 + b"]" * 64, None),
        (b'["' + b"[" * 100 + b'"]', ["[" * 100]),
        (b'"\\\\ud800"', "\\ud800"),
    ],
)
def test_accepted_lines(line: bytes, value: Any) -> None:
    parsed = parse_line(line)
    assert value is None or parsed == value


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text("xyz", max_size=3), JSON, max_size=5))
def test_what_is_written_reads_back(message: dict[str, Any]) -> None:
    line = write_line(message)
    assert line.count(b"\n") == 1
    assert parse_line(line) == message


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(line: bytes) -> None:
    """Never another exception: what is refused is a LineError, what is read is JSON."""
    try:
        value = parse_line(line)
    except LineError:
        return
    assert json.loads(line) == value


@pytest.mark.parametrize("kind", ["events", "requests"])
def test_schemas_are_schemas(kind: str) -> None:
    text = files("hexapla.protocol").joinpath("schemas", f"{kind}.json").read_text("utf-8")
    Draft202012Validator.check_schema(json.loads(text))


def event(name: str, **keys: Any) -> dict[str, Any]:
    return {"id": "r", "event": name, **keys}


EVALUATION = event(
    "evaluation",
    step=0,
    adapter=True,
    loss=1.5,
    loss_bits=float_bits(1.5),
    total=3.0,
    total_bits=float_bits(3.0),
    labels=2,
    record_nll=[1.0, 2.0],
    adapter_digest=None,
)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"mood": 1}, "mood"),
        ({"step": -1}, "step"),
        ({"step": 1.0}, "step"),
        ({"adapter": 1}, "adapter"),
        ({"loss": "nan"}, "loss"),
        ({"loss_bits": "0x1"}, "loss_bits"),
        ({"record_nll": [1.0, "x"]}, "record_nll/1"),
        ({"record_nll": [True]}, "record_nll/0"),
        ({"adapter_digest": "00"}, "adapter_digest"),
    ],
)
def test_wrong_events(change: dict[str, Any], word: str) -> None:
    validate_event(EVALUATION, "train")
    with pytest.raises(SchemaError) as caught:
        validate_event({**EVALUATION, **change}, "train")
    assert word in str(caught.value)


def test_missing_keys_and_unknown_events() -> None:
    for key in EVALUATION.keys() - {"event"}:
        with pytest.raises(SchemaError):
            validate_event({name: value for name, value in EVALUATION.items() if name != key}, "train")
    with pytest.raises(SchemaError):
        validate_event(event("victory"), "train")
    with pytest.raises(SchemaError):
        validate_event(event("done", cases=1), "train")
    with pytest.raises(SchemaError):
        validate_request({"protocol": 1, "id": "a", "request": "hello", "extra": 1})


def test_numbers_that_json_lacks() -> None:
    read = parse_event(
        {**EVALUATION, "loss": "NaN", "loss_bits": "0x7ff8000000000000", "record_nll": ["Infinity"]}
    )
    assert read.loss != read.loss  # type: ignore[attr-defined]
    assert read.record_nll == [float("inf")]  # type: ignore[attr-defined]
    with pytest.raises(SchemaError):
        parse_event({**EVALUATION, "total_bits": float_bits(3.5)})


SPEC = {"updates": 3, "evaluate_every": 2, "save_every": 2}


def train_request(**keys: Any) -> dict[str, Any]:
    return {"request": "train", "spec": SPEC, "resume_from": None, "stop_after": None, **keys}


def step(update: int) -> dict[str, Any]:
    numbers = {name: 0.0 for name in ("loss", "gradient_norm", "learning_rate")}
    bits = {f"{name}_bits": float_bits(0.0) for name in numbers}
    counts = {"epoch": 0, "records": 1, "tokens": 1, "labels": 1, "clipped": False, "milliseconds": 1.0}
    return event("step", step=update, batch_digest="0" * 16, **counts, **numbers, **bits)


def evaluation(update: int) -> dict[str, Any]:
    return {**EVALUATION, "step": update}


def checkpoint(update: int) -> dict[str, Any]:
    digests = {"adapter_digest": "0" * 64, "optimizer_digest": "0" * 64}
    return event("checkpoint", step=update, path="/c", **digests)


def done(update: int, stopped: bool = False) -> dict[str, Any]:
    return event("done", step=update, stopped=stopped, device_bytes_peak=None, handles_live=None)


DATA = event("data", train=1, heldout=1, rejected={}, markers=0)
WHOLE = [DATA, evaluation(0), step(1), step(2), evaluation(2), checkpoint(2), step(3), evaluation(3)]
WHOLE += [checkpoint(3), done(3)]


def follow(request: dict[str, Any], messages: list[dict[str, Any]]) -> bool:
    order = Order(request)
    ended = False
    for message in messages:
        ended = order.accept(parse_event(message))
    return ended


def test_a_whole_run_is_in_order() -> None:
    assert follow(train_request(), WHOLE)
    progress = event("progress", done=1, total=2, unit="records")
    assert follow(train_request(), [message for each in WHOLE for message in (progress, each)])


@pytest.mark.parametrize("index", range(len(WHOLE) - 1))
def test_no_event_can_be_left_out(index: int) -> None:
    with pytest.raises(OrderError):
        follow(train_request(), WHOLE[:index] + WHOLE[index + 1 :])


@pytest.mark.parametrize("index", range(len(WHOLE) - 1))
def test_no_event_can_be_doubled(index: int) -> None:
    with pytest.raises(OrderError):
        follow(train_request(), WHOLE[: index + 1] + WHOLE[index:])


def test_stop_and_resume() -> None:
    stopped = [DATA, evaluation(0), step(1), checkpoint(1), done(1, stopped=True)]
    assert follow(train_request(stop_after=1), stopped)
    resumed = [DATA, step(2), evaluation(2), checkpoint(2), step(3), evaluation(3), checkpoint(3), done(3)]
    assert follow(train_request(resume_from="/x/checkpoint-000001"), resumed)
    with pytest.raises(OrderError):
        follow(train_request(stop_after=1), [*stopped[:-1], done(1)])
    assert follow(train_request(), [DATA, event("error", status="non_finite", message="m", where="update 1")])


def test_counts_are_checked() -> None:
    cases = [{"case": "a"}, {"case": "b"}]
    request = {"request": "operators", "cases": cases}
    right = [event("case", case=name, ok=True, message="") for name in "ab"]
    assert follow(request, [*right, event("done", cases=2)])
    for wrong in ([*right, event("done", cases=3)], [right[1]], [right[0], event("done", cases=2)]):
        with pytest.raises(OrderError):
            follow(request, wrong)
