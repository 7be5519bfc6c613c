"""Checks an object's keys against a table: none missing, none unknown, every value in its range.

Apart from requests and specifications because both are closed sets of keys with the same rules. A kind is a
function that answers None for a good value and otherwise says what was expected. No value is converted or
filled in here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from .failure import Failure
from .strict_json import Json

Kind = Callable[[Json], str | None]

INTEGER_LIMIT = 2**53


def check(found: Json, kinds: Mapping[str, Kind], status: str, what: str) -> dict[str, Json]:
    """Return `found` as an object that holds exactly the keys of `kinds`; raises Failure(status) naming the
    key."""
    if not isinstance(found, dict):
        raise Failure(status, f"{what} must be an object", what)
    for key in kinds:
        if key not in found:
            raise Failure(status, f"{what}: the key {key} is missing", key)
    for key in found:
        if key not in kinds:
            raise Failure(status, f"{what}: the key {key} is unknown; remove it", key)
    for key, kind in kinds.items():
        expected = kind(found[key])
        if expected is not None:
            shown = json.dumps(found[key], ensure_ascii=False)[:80]
            raise Failure(status, f"{what}: {key} is {shown}, expected {expected}", key)
    return found


def anything(value: Json) -> str | None:
    return None


def string(value: Json) -> str | None:
    return None if isinstance(value, str) else "a string"


def boolean(value: Json) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def an_object(value: Json) -> str | None:
    return None if isinstance(value, dict) else "an object"


def a_list(value: Json) -> str | None:
    return None if isinstance(value, list) else "a list"


def path(value: Json) -> str | None:
    absolute = isinstance(value, str) and "\0" not in value and PurePosixPath(value).is_absolute()
    return None if absolute else "an absolute path"


def is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < INTEGER_LIMIT


def integer(low: int, high: int = INTEGER_LIMIT - 1) -> Kind:
    bound = f"at least {low}" if high == INTEGER_LIMIT - 1 else f"from {low} to {high}"

    def kind(value: Json) -> str | None:
        inside = is_integer(value) and low <= value <= high  # type: ignore[operator]
        return None if inside else f"an integer {bound}"

    return kind


def number(expected: str, test: Callable[[float], bool]) -> Kind:
    def kind(value: Json) -> str | None:
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        return None if numeric and test(float(value)) else expected  # type: ignore[arg-type]

    return kind


def choice(*words: str) -> Kind:
    return lambda value: None if value in words and isinstance(value, str) else "one of " + ", ".join(words)


def nullable(kind: Kind) -> Kind:
    return lambda value: None if value is None else kind(value)


def strings(value: Json) -> str | None:
    good = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if good else "a list of strings"


def integers(value: Json) -> str | None:
    good = isinstance(value, list) and all(is_integer(item) for item in value)
    return None if good else "a list of integers"
