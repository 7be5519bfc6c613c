"""The shape of requests: which keys, of which types. Nothing here knows what they are for."""

from __future__ import annotations

from typing import Any

from hexapla_core.trainer.failure import Failure
from hexapla_core.trainer.strict_json import JsonError, parse_line

PROTOCOL = 1
INTEGER_END = 1 << 53

# Types: s string, i integer, b boolean, x flag (0, 1 or boolean), o object, l list; `?` may be null.
_CONTEXT = {"device": "s", "threads": "i", "memory_limit": "i", "spill": "b", "ledger": "s?"}
_TRAIN = {
    "spec": "o",
    "spec_digest": "s",
    "model": "s",
    "tokenizer": "s",
    "train": "s",
    "heldout": "s",
    "adapter": "s",
    "output": "s",
    "resume_from": "s?",
    "stop_after": "i?",
    "schedule": "s",
    "release": "s",
}
REQUESTS: dict[str, dict[str, str]] = {
    "hello": {},
    "abi": {},
    "operators": {"cases": "l", "file": "s", "output": "s", "context": "o"},
    "load": {"model": "s", "context": "o"},
    "render": {"tokenizer": "s", "records": "s", "template": "s", "length": "i"},
    "evaluate": {
        "spec": "o",
        "model": "s",
        "tokenizer": "s",
        "heldout": "s",
        "adapter": "s?",
        "context": "o",
    },
    "train": {**_TRAIN, "context": "o"},
    "probe": {"scenario": "s", "parameters": "o", "context": "o"},
    "bye": {},
}
_CASE = {
    "case": "s",
    "op": "s",
    "attributes": "o",
    "inputs": "l",
    "gradients": "l",
}
_PLAIN: dict[str, tuple[type, ...]] = {"s": (str,), "b": (bool,), "o": (dict,), "l": (list,)}


class Unreadable(ValueError):
    """A line that is no request at all."""


def parse_request(line: bytes) -> dict[str, Any]:
    """A line as an object with an id. Raises Unreadable."""
    try:
        request = parse_line(line)
    except JsonError as error:
        raise Unreadable(str(error)) from None
    if not isinstance(request, dict):
        raise Unreadable("is not an object")
    for key in ("id", "request"):
        if not isinstance(request.get(key), str):
            raise Unreadable(f"has no string {key!r}")
    return request


def check_request(request: dict[str, Any]) -> None:
    """Protocol, keys and types of a known request. Raises Failure."""
    if "protocol" not in request:
        raise Failure("request", "missing key protocol", "protocol")
    if request["protocol"] is True or request["protocol"] != PROTOCOL:
        raise Failure("request", f"is {request['protocol']!r}; this trainer speaks protocol 1", "protocol")
    keys = REQUESTS[request["request"]]
    members = {key: value for key, value in request.items() if key not in ("protocol", "id", "request")}
    check_members(members, keys)
    if "context" in keys:
        _check_context(members["context"])
    if "train" in keys:
        _check_train(members)
    for index, case in enumerate(members.get("cases", [])):
        if not isinstance(case, dict):
            raise Failure("request", f"is {_shown(case)}, must be an object", f"cases[{index}]")
        check_members(case, _CASE, f"cases[{index}].")


def check_train(members: dict[str, Any]) -> None:
    """The `train` object of a probe's parameters: a train request without context. Raises Failure."""
    check_members(members, _TRAIN, "parameters.train.")
    _check_train(members)


def check_members(members: dict[str, Any], keys: dict[str, str], prefix: str = "") -> None:
    """Exactly these keys, each of its type. Raises Failure that names the first that is wrong."""
    for key in members:
        if key not in keys:
            raise Failure("request", f"unknown key {prefix}{key}", prefix + key)
    for key, kind in keys.items():
        if key not in members:
            raise Failure("request", f"missing key {prefix}{key}", prefix + key)
        value = members[key]
        if not (value is None and kind.endswith("?")) and not _is(value, kind[0]):
            raise Failure("request", f"is {_shown(value)}, must be of type {kind}", prefix + key)


def _is(value: Any, kind: str) -> bool:
    if kind == "i":
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < INTEGER_END
    if kind == "x":
        return isinstance(value, int) and value in (0, 1)
    return isinstance(value, _PLAIN[kind])


def _check_context(context: dict[str, Any]) -> None:
    check_members(context, _CONTEXT, "context.")
    for key, end in (("threads", 1 << 32), ("memory_limit", INTEGER_END)):
        if not 0 <= context[key] < end:
            raise Failure("request", f"is {context[key]}, out of range", f"context.{key}")


def _check_train(members: dict[str, Any]) -> None:
    for key, words in (("schedule", ("pinned", "migrating")), ("release", ("explicit", "collector"))):
        if members[key] not in words:
            raise Failure("request", f"is {_shown(members[key])}, must be {' or '.join(words)}", key)


def _shown(value: Any) -> str:
    return repr(value)[:60]
