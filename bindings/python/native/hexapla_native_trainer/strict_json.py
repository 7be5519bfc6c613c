"""JSON as the protocol wants it read. Separate because Python's reader accepts what the protocol refuses:
duplicate keys, lone surrogates, numbers past f64, NaN, nesting without end.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEPTH_MAX = 64
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')


def parse(line: bytes) -> Any:
    """The value of one line, without its newline. ValueError says what is wrong."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise ValueError("begins with a byte-order mark")
    if not text.strip(" \t\r\n"):
        raise ValueError("empty line")
    _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from None
    if _SURROGATE.search(text):
        _check_surrogates(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"key {key!r} appears twice")
        members[key] = value
    return members


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number {text[:40]} is not finite")
    return value


def _int(text: str) -> int:
    _float(text)
    return int(text)


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant
)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                raise ValueError(f"nested more than {DEPTH_MAX} deep")
        elif token in "]}":
            depth -= 1


def _check_surrogates(value: Any) -> None:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a lone surrogate in a string") from None
    elif isinstance(value, list):
        for item in value:
            _check_surrogates(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_surrogates(key)
            _check_surrogates(item)
