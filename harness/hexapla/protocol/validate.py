"""Messages against the shipped JSON Schemas, both ways.

The schema files are the contract and standard JSON Schema 2020-12; this file only makes checking
them fast enough for thousands of events: references are inlined once, a message is checked against
the one definition that its name selects, and arrays of plain numbers take a tight loop.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

_MAX_INTEGER = 2**53 - 1
_NUMBER_NAMES = frozenset({"NaN", "Infinity", "-Infinity"})


class SchemaError(ValueError):
    """A message that does not fit protocol 1; the text names the key."""


def validate_event(event: dict[str, Any], request: str | None) -> None:
    """Check one event; `request` is the name of the request it answers (it selects `done`'s keys)."""
    name = event.get("event")
    if not isinstance(name, str):
        raise SchemaError("event has no string `event`")
    _validate("events", f"done.{request}" if name == "done" else name, event, f"event {name!r}")


def validate_request(request: dict[str, Any]) -> None:
    """Check one request before it is sent."""
    name = request.get("request")
    if not isinstance(name, str):
        raise SchemaError("request has no string `request`")
    _validate("requests", name, request, f"request {name!r}")


def _validate(kind: str, definition: str, message: dict[str, Any], called: str) -> None:
    validator = _validators(kind).get(definition)
    if validator is None:
        raise SchemaError(f"{called} is not in protocol 1")
    error = next(validator.iter_errors(message), None)
    if error is not None:
        where = "/".join(str(part) for part in error.absolute_path) or "its keys"
        raise SchemaError(f"{called}: {where}: {_short(error.message)}")


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 40] + " … " + text[-37:]


@functools.cache
def _validators(kind: str) -> dict[str, Any]:
    document = json.loads(files("hexapla.protocol").joinpath("schemas", f"{kind}.json").read_text("utf-8"))
    definitions = document["$defs"]
    return {name: _Validator(_inline(schema, definitions)) for name, schema in definitions.items()}


def _inline(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return _inline(definitions[reference.removeprefix("#/$defs/")], definitions)
        return {key: _inline(value, definitions) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_inline(value, definitions) for value in schema]
    return schema


def _is_integer(_checker: TypeChecker, value: object) -> bool:
    # JSON Schema lets 1.0 be an integer; a trainer that prints one has a float where a count belongs.
    return isinstance(value, int) and not isinstance(value, bool)


def _fast_items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """`items`, with loops of our own for the two kinds of array that hold most of the bytes."""
    if not isinstance(instance, list):
        return
    kind = items.get("type") if isinstance(items, dict) else None
    if kind == "integer" and items.get("maximum") == _MAX_INTEGER:
        low = items["minimum"]
        for index, value in enumerate(instance):
            if type(value) is not int or not low <= value <= _MAX_INTEGER:
                yield ValidationError(f"{value!r} is not an integer in range", path=(index,))
    elif isinstance(items, dict) and list(items) == ["anyOf"] and items["anyOf"][0] == {"type": "number"}:
        for index, value in enumerate(instance):
            if type(value) in (int, float) and math.isfinite(value):
                continue
            if not (isinstance(value, str) and value in _NUMBER_NAMES):
                yield ValidationError(f"{value!r} is not a number", path=(index,))
    else:
        for index, item in enumerate(instance):
            yield from validator.descend(item, items, path=index)


_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={"items": _fast_items},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
