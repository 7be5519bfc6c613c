"""stdin as lines, read without a thread and without ever reading too late.

Separate because a training run must notice that stdin has ended: `ended` looks ahead without blocking, and
what it reads is kept for the next request.
"""

from __future__ import annotations

import os
import select

LINE_BYTES_MAX = 16 * 1024 * 1024
_CHUNK_BYTES = 1 << 16


class LineTooLong(ValueError):
    """A line of more than 16 MiB; it has been passed over."""


class Lines:
    """The lines of a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._scanned = 0  # bytes of the buffer known to hold no line end
        self._at_end = False

    def next_line(self) -> bytes | None:
        """The next line without its `\\n`, which a last line need not have; None at the end."""
        skipped = False
        while (end := self._buffer.find(b"\n", self._scanned)) < 0 and not self._at_end:
            self._scanned = len(self._buffer)
            if self._scanned > LINE_BYTES_MAX:
                skipped = True
                self._drop(self._scanned)
            self._read()
        if end < 0:
            end = len(self._buffer)
            if end == 0 and not skipped:
                return None
        line = bytes(self._buffer[:end])
        self._drop(end + 1)
        if skipped or len(line) > LINE_BYTES_MAX:
            raise LineTooLong(f"longer than {LINE_BYTES_MAX} bytes")
        return line

    def ended(self) -> bool:
        """Whether the writer has closed; never blocks."""
        while not self._at_end and select.select([self._descriptor], [], [], 0)[0]:
            self._read()
        return self._at_end

    def _read(self) -> None:
        chunk = os.read(self._descriptor, _CHUNK_BYTES)
        self._buffer += chunk
        self._at_end = not chunk

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self._scanned = 0
