"""One JSON line, read as strictly as PROTOCOL's "Lines" asks, and written the same way.

Separate because Python's reader accepts duplicate keys, lone surrogates, NaN and any depth, and
each of those once hid a fault. Knows nothing of requests or events.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

MAX_DEPTH = 64
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')


class LineError(ValueError):
    """A line that is not one strict JSON value; the text says what is wrong."""


def parse_line(line: bytes) -> Any:
    """Read one line (with or without its newline) as a JSON value.

    Raises LineError for what PROTOCOL refuses: not UTF-8, byte-order mark, empty line, text behind
    the value, duplicate key, lone surrogate, number not finite in f64, nesting past 64.
    """
    if line.startswith(b"\xef\xbb\xbf"):
        raise LineError("byte-order mark")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LineError(f"not UTF-8 at byte {error.start}") from None
    if not text.strip(" \t\r\n"):
        raise LineError("empty line")
    _check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_finite_int,
        )
    except json.JSONDecodeError as error:
        raise LineError(f"{error.msg} at column {error.colno}") from None
    if _SURROGATE_ESCAPE.search(line):
        _check_surrogates(value)
    return value


def parse_object(line: bytes) -> dict[str, Any]:
    """Read one line that must hold an object."""
    value = parse_line(line)
    if not isinstance(value, dict):
        raise LineError(f"a JSON {type(value).__name__}, not an object")
    return value


def write_line(message: dict[str, Any]) -> bytes:
    """One message as a line, newline included."""
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise LineError(f"duplicate key {key!r}")
            seen.add(key)
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise LineError(f"{name} is not JSON; it travels as a string")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise LineError(f"number {digits[:40]} is not finite in f64")
    return value


def _finite_int(digits: str) -> int:
    # 309 digits are the most that f64 holds; int() itself refuses past 4,300 with another error.
    if len(digits) > 310:
        raise LineError(f"number of {len(digits)} digits is not finite in f64")
    value = int(digits)
    try:
        float(value)
    except OverflowError:
        raise LineError(f"number {digits[:40]} is not finite in f64") from None
    return value


def _check_depth(text: str) -> None:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return
    depth = 0
    for character in _STRING.sub("", text):
        if character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise LineError(f"nesting past {MAX_DEPTH}")
        elif character in "]}":
            depth -= 1


def _check_surrogates(value: Any) -> None:
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise LineError("lone surrogate")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_surrogates(key)
            _check_surrogates(item)
    elif isinstance(value, list):
        for item in value:
            _check_surrogates(item)
