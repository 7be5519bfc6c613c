"""Events as lines: numbers, their bits, and the writer.

Apart from the main loop because every stage makes events; only the writer here touches stdout.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import BinaryIO

Event = dict[str, object]
Emit = Callable[[Event], None]


def with_bits(key: str, value: float) -> Event:
    """`key` and, beside it, the 16 hex digits of its float64."""
    return {key: value, f"{key}_bits": "0x" + struct.pack(">d", value).hex()}


class EventWriter:
    """Writes one event a line, with its request's id, and flushes it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, request_id: str, event: Event) -> None:
        line = json.dumps({"id": request_id, **_finite(event)}, ensure_ascii=False, allow_nan=False)
        self._stream.write(line.encode("utf-8") + b"\n")
        self._stream.flush()


def _finite(event: Event) -> Event:
    return {key: _word(value) for key, value in event.items()}


def _word(value: object) -> object:
    """A float that JSON has no word for becomes the protocol's string."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, list):
        return [_word(item) for item in value]
    return value
