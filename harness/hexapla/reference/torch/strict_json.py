"""One line of JSON, read as strictly as the protocol's "Lines" paragraph asks.

Python's own reader accepts duplicate keys, lone surrogates, NaN and numbers that overflow f64;
requests and records must be refused for all of these. Separate because both go through it. It knows
nothing of requests or records and adds no line number: the caller does.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

NESTING_MAX = 64

# A string is matched whole so that brackets inside it do not count; an unterminated one matches as
# far as it goes and is left to the real parser to refuse.
_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class LineError(ValueError):
    """The line cannot be read; the text says why, in one line."""


def parse_line(line: bytes) -> Any:
    """Return the value of `line` (with or without its final `\\n`); raise `LineError` otherwise."""
    if line.startswith(b"\xef\xbb\xbf"):
        raise LineError("the line begins with a byte-order mark")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LineError(f"byte {error.start + 1} of the line is not UTF-8") from None
    if not text.strip(" \t\r\n"):
        raise LineError("the line is empty")
    _check_nesting(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_finite_int,
        )
    except json.JSONDecodeError as error:
        raise LineError(f"not JSON at character {error.pos + 1}: {error.msg}") from None
    # Raw surrogates cannot pass the UTF-8 decoder, so only an escape can make one.
    if _SURROGATE_ESCAPE.search(text):
        _refuse_lone_surrogates(value)
    return value


def _check_nesting(text: str) -> None:
    depth = 0
    for match in _STRINGS_AND_BRACKETS.finditer(text):
        first = match.group()[0]
        if first in "[{":
            depth += 1
            if depth > NESTING_MAX:
                raise LineError(f"nesting is deeper than {NESTING_MAX} at character {match.start() + 1}")
        elif first in "]}":
            depth -= 1


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise LineError(f"key {json.dumps(key)} appears twice in one object")
            seen.add(key)
    return value


def _refuse_constant(name: str) -> Any:
    raise LineError(f"{name} is not a JSON number")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise LineError(f"number {digits[:40]} is not finite in f64")
    return value


def _finite_int(digits: str) -> int:
    # float() first: int() refuses very long digit strings with an error of its own.
    _finite_float(digits)
    return int(digits)


def _refuse_lone_surrogates(value: Any) -> None:
    # Nesting is at most NESTING_MAX, so the recursion is bounded.
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise LineError("a string holds a lone surrogate")
    elif isinstance(value, list):
        for element in value:
            _refuse_lone_surrogates(element)
    elif isinstance(value, dict):
        for key, element in value.items():
            _refuse_lone_surrogates(key)
            _refuse_lone_surrogates(element)
