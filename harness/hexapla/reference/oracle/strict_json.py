"""JSON read as the protocol's paragraph "Lines" demands it.

Apart from its users because requests, record files, configurations and file headers all need the same reader,
and Python's own accepts duplicate keys, lone surrogates, NaN and numbers beyond float64. It knows nothing of
files.
"""

from __future__ import annotations

import json
import math
import re

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

NESTING_MAX = 64

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(line: bytes) -> Json:
    """Read one JSON value that fills the whole line.

    Raises ValueError, whose text says what is wrong: not UTF-8, a byte-order mark, an empty line, text behind
    the value, a duplicate key, a lone surrogate, a number that is not finite in float64, nesting past 64, bad
    syntax.
    """
    if line.startswith(b"\xef\xbb\xbf"):
        raise ValueError("begins with a byte-order mark; save the file without it")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from error
    if not text.strip(" \t\r\n"):
        raise ValueError("the line is empty")
    _refuse_deep(text)
    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    if "\\u" in text:
        # The bytes were UTF-8, so only an escape can have made a lone surrogate; pairs have been joined.
        _refuse_surrogates(value)
    return value


def _refuse_deep(text: str) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        mark = found.group()
        if mark in ("[", "{"):
            depth += 1
            if depth > NESTING_MAX:
                raise ValueError(f"nested deeper than {NESTING_MAX}")
        elif mark in ("]", "}"):
            depth -= 1


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"duplicate key {json.dumps(key)}")
        made[key] = value
    return made


def _integer(digits: str) -> int:
    # The length comes first: past 4,300 digits Python has a refusal of its own.
    if len(digits) > 310 or math.isinf(float(digits)):
        raise ValueError(f"the number {digits[:20]}… is not finite in float64")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:20]} is not finite in float64")
    return value


def _constant(word: str) -> Json:
    raise ValueError(f"{word} is not a JSON number")


def _refuse_surrogates(value: Json) -> None:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise ValueError(f"a lone surrogate in {json.dumps(value)[:60]}")
    elif isinstance(value, list):
        for item in value:
            _refuse_surrogates(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_surrogates(key)
            _refuse_surrogates(item)
