"""Events out: one JSON object a line, flushed. Separate because nothing else may write to stdout."""

from __future__ import annotations

import json
import math
import struct
import sys
import threading
from typing import Any


class Events:
    """Writes the events of one request."""

    _lock = threading.Lock()

    def __init__(self, request_id: str) -> None:
        self._id = request_id

    def send(self, event: str, **values: Any) -> None:
        line = json.dumps(
            {"id": self._id, "event": event, **values},
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
        with self._lock:
            sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
            sys.stdout.buffer.flush()


def number(value: float) -> float | str:
    """A number as an event writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def with_bits(name: str, value: float) -> dict[str, float | str]:
    """`name` and `name`_bits."""
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return {name: number(value), f"{name}_bits": f"0x{bits:016x}"}
