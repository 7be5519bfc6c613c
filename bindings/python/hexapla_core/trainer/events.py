"""Events: JSON objects on stdout, one a line, flushed as they come.

Separate because numbers have a form of their own here: f64 with its bits beside it, and NaN and infinities
as strings.
"""

from __future__ import annotations

import json
import math
import os
import struct
from typing import Any


class Events:
    """The events of one request."""

    def __init__(self, descriptor: int, request_id: str) -> None:
        self._descriptor, self._id = descriptor, request_id

    def send(self, event: str, **members: Any) -> None:
        """Send one event whole; a pipe may take it in pieces."""
        text = json.dumps({"id": self._id, "event": event, **members}, separators=(",", ":"), allow_nan=False)
        line = memoryview(text.encode("utf-8") + b"\n")
        while line:
            line = line[os.write(self._descriptor, line) :]


def number(value: float) -> float | str:
    """A number as events carry it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def bits(value: float) -> str:
    """`0x` and the 16 hex digits of an f64."""
    return "0x" + struct.pack(">d", value).hex()


def with_bits(**values: float) -> dict[str, float | str]:
    """Each number under its name, and its bits under `<name>_bits`."""
    members: dict[str, float | str] = {}
    for name, value in values.items():
        members[name], members[f"{name}_bits"] = number(value), bits(value)
    return members
