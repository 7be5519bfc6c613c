"""JSON as the protocol reads it: strictly, one value a line.

Separate because Python's `json` accepts duplicate keys, NaN, lone surrogates, numbers beyond f64 and any
depth; each of them is refused here. It must not know what the values mean.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

DEPTH_MAX = 64
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonError(ValueError):
    """A line that is not strict JSON; the text says why."""


def parse_line(line: bytes) -> Any:
    """The value of one line, given without its `\\n`. Raises JsonError."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 at byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise JsonError("begins with a byte-order mark")
    if not text.strip(" \t\r"):
        raise JsonError("is empty")
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise JsonError(f"nested deeper than {DEPTH_MAX}") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"not JSON: {error.msg} at character {error.pos}") from None
    _check(value, bool(_ESCAPED_SURROGATE.search(text)))
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"duplicate key {json.dumps(key)}")
            seen.add(key)
    return result


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonError(f"number {text[:40]} is not finite in f64")
    return value


def _integer(text: str) -> int:
    # Longer than any f64, and than what Python converts by default.
    if len(text) > 310:
        raise JsonError(f"number {text[:40]} is not finite in f64")
    _finite(text)
    return int(text)


def _constant(text: str) -> NoReturn:
    raise JsonError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_finite, parse_int=_integer, parse_constant=_constant
)


def _check(value: Any, escaped_surrogates: bool) -> None:
    """Depth, and strings that are no Unicode; without recursion, since depth is what it looks for."""
    waiting = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            if escaped_surrogates:
                _check_text(item)
        elif isinstance(item, dict | list):
            if depth > DEPTH_MAX:
                raise JsonError(f"nested deeper than {DEPTH_MAX}")
            if isinstance(item, dict):
                waiting.extend((key, depth) for key in item)
                item = item.values()
            waiting.extend((member, depth + 1) for member in item)


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise JsonError(f"lone surrogate U+{ord(text[error.start]):04X} in a string") from None
