"""The two pipes: request lines from stdin, events to stdout.

Separate because two things about them are subtle: `train` must learn of an end of input while it
works, and no library may write on the protocol's stdout. It must not know what a request means.
"""

from __future__ import annotations

import json
import math
import os
import select
import struct
from typing import Any

from .strict_json import LineError

LINE_BYTES_MAX = 16 * 1024 * 1024
_CHUNK_BYTES = 65536


class LineReader:
    """Lines of a file descriptor, and whether its end has been reached, without a thread.

    A thread that sits in a read would be the usual way to see the end of input during a run; polling
    between updates needs no second thread and cannot hang at exit.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._searched = 0
        self._ended = False
        self.line_number = 0

    def next_line(self) -> bytes | None:
        """Block for the next line, without its `\\n`; None at the end. Raises `LineError` if too long."""
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                return self._take(end, end + 1)
            self._searched = len(self._buffer)
            if self._ended:
                return self._take(self._searched, self._searched) if self._buffer else None
            if len(self._buffer) > LINE_BYTES_MAX:
                self._skip_line()
                raise LineError(f"the line is longer than {LINE_BYTES_MAX} bytes")
            self._read()

    def at_end(self) -> bool:
        """Whether the other side has closed the pipe; never blocks."""
        while not self._ended and select.select([self._descriptor], [], [], 0)[0]:
            self._read()
        return self._ended

    def _read(self) -> None:
        chunk = os.read(self._descriptor, _CHUNK_BYTES)
        self._buffer += chunk
        self._ended = not chunk

    def _take(self, end: int, behind: int) -> bytes:
        self.line_number += 1
        line = bytes(self._buffer[:end])
        del self._buffer[:behind]
        self._searched = 0
        if len(line) > LINE_BYTES_MAX:
            raise LineError(f"the line is longer than {LINE_BYTES_MAX} bytes")
        return line

    def _skip_line(self) -> None:
        self.line_number += 1
        while not self._ended and b"\n" not in self._buffer:
            self._buffer.clear()
            self._read()
        end = self._buffer.find(b"\n")
        del self._buffer[: end + 1 if end >= 0 else len(self._buffer)]
        self._searched = 0


class EventWriter:
    """Writes events, one JSON object a line, flushed line by line."""

    def __init__(self) -> None:
        # Libraries print; what they print on descriptor 1 goes to stderr from here on.
        self._stream = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def write(self, request_id: str, event: str, **values: Any) -> None:
        """Write one event; `values` may hold non-finite floats, which travel as strings."""
        line = json.dumps({"id": request_id, "event": event, **_sendable(values)}, ensure_ascii=False)
        data = memoryview(line.encode("utf-8") + b"\n")
        while data:
            data = data[self._stream.write(data) :]


def with_bits(name: str, value: float) -> dict[str, Any]:
    """Return `{name: value, name_bits: "0x…"}`, the 16 hex digits of the f64."""
    return {name: value, f"{name}_bits": f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"}


def _sendable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _sendable(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_sendable(element) for element in value]
    return value
