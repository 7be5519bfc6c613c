"""The trainer's stages against docs/spec.md's check values and docs/protocol.md's strict reading."""

from __future__ import annotations

import json
import os
import struct
from array import array
from pathlib import Path

import pytest
from hexapla_core.trainer.batch import batch_digest, pack, record_sums
from hexapla_core.trainer.lines import LINE_BYTES_MAX, Lines, LineTooLong
from hexapla_core.trainer.order import SplitMix64, permutation, records_of_update
from hexapla_core.trainer.render import Rendered
from hexapla_core.trainer.spec import parse_spec
from hexapla_core.trainer.strict_json import JsonError, parse_line

D1 = (
    "151644 872 198 3872 29067 220 16 20 15 14 24 20 1550 30 151645 198 151644 77091 198 151667 271 151668 "
    "271 9454 13 151645 198"
)
SPECS = Path(__file__).resolve().parents[3] / "harness" / "hexapla" / "spec"


def bits(value: float) -> str:
    return struct.pack(">d", value).hex()


def test_order() -> None:
    assert SplitMix64(0).next() == 0xE220A8397B1DCDAF
    assert permutation(10, 1, 0) == (9, 7, 4, 0, 3, 8, 2, 5, 1, 6)
    assert permutation(10, 1, 1) == (1, 6, 3, 2, 4, 5, 9, 8, 0, 7)
    assert [len(records_of_update(10, 4, 1, update)[1]) for update in (1, 2, 3, 4)] == [4, 4, 2, 4]
    assert [records_of_update(10, 4, 1, update)[0] for update in (1, 2, 3, 4)] == [0, 0, 0, 1]


def test_batch_digest_of_case_d1() -> None:
    record = Rendered("d1", array("i", map(int, D1.split())), bytes(23) + b"\1\1\1\0")
    assert batch_digest([record]) == "d07c95059f5dc313"


def test_packing() -> None:
    first = Rendered("a", array("i", [5, 6, 7]), b"\0\1\1")
    second = Rendered("b", array("i", [8, 9]), b"\0\1")
    batch = pack([first, second])
    assert batch.positions.tolist() == [0, 1, 2, 0, 1]
    assert batch.starts.tolist() == [0, 3, 5]
    assert (batch.rows.tolist(), batch.targets.tolist()) == ([0, 1, 3], [6, 7, 9])
    assert record_sums([1.0, 2.0, 4.0], batch.label_counts) == [3.0, 4.0]


def test_sums_run_in_order_without_compensation() -> None:
    assert record_sums([1e16, 1.0, -1e16], [3]) == [0.0]


def test_schedule() -> None:
    if not SPECS.is_dir():
        pytest.skip(f"{SPECS} is absent")
    tiny = parse_spec(json.loads((SPECS / "tiny.json").read_text("utf-8")))
    wanted = {1: "3f50624de0000000", 3: "3f605f8940000000", 31: "3f5205bc00000000", 60: "3f2a36e2e0000000"}
    assert {k: bits(tiny.learning_rate_at(k)) for k in wanted} == wanted
    full = parse_spec(json.loads((SPECS / "full.json").read_text("utf-8")))
    assert bits(full.learning_rate_at(5000)) == "3f1feba180000000"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xff{}", "UTF-8"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b"", "empty"),
        (b"\r", "empty"),
        (b"{} {}", "not JSON"),
        (b'{"a":1,"a":2}', 'duplicate key "a"'),
        (b'{"x":{"\\u0061":1,"a":2}}', "duplicate key"),
        (b'"\\ud800"', "lone surrogate"),
        (b'{"\\uDC00":1}', "lone surrogate"),
        (b"1e999", "finite"),
        (b"9" * 400, "finite"),
        (b"9" * 5000, "finite"),
        (b"NaN", "not JSON"),
        (b"-Infinity", "not JSON"),
        (b"[" * 65 + b"]" * 65, "nested"),
        (b"[" * 100_000 + b"]" * 100_000, "nested"),
        (b"'a'", "not JSON"),
        (b"[1,]", "not JSON"),
        (b'"\t"', "not JSON"),
    ],
)
def test_lines_that_are_refused(line: bytes, reason: str) -> None:
    with pytest.raises(JsonError, match=reason):
        parse_line(line)


def test_lines_that_are_read() -> None:
    assert parse_line(b'{"a":"\\ud83d\\ude00"}\r') == {"a": "\U0001f600"}
    assert parse_line('"\u0085\u2028\\u0000"'.encode()) == "\u0085\u2028\0"
    assert parse_line(b"[" * 64 + b"]" * 64)
    assert parse_line(b"1e308") == 1e308


def test_stdin_is_read_ahead_without_loss() -> None:
    reader, writer = os.pipe()
    lines = Lines(reader)
    os.write(writer, b"one\ntwo\nthr")
    assert lines.next_line() == b"one"
    assert not lines.ended()
    os.write(writer, b"ee")
    os.close(writer)
    assert lines.ended()
    assert [lines.next_line(), lines.next_line(), lines.next_line()] == [b"two", b"three", None]
    os.close(reader)


def test_a_line_too_long_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"x" * (LINE_BYTES_MAX + 100_000) + b"\nnext\n")
    with file.open("rb") as opened:
        lines = Lines(opened.fileno())
        with pytest.raises(LineTooLong):
            lines.next_line()
        assert lines.next_line() == b"next"
        assert lines.next_line() is None
