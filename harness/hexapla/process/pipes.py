"""A child's three pipes, pumped by one selector without ever blocking on any of them.

Separate so that the deadlocks live in one place: a child that floods stderr before its first line,
never reads stdin, closes stdout and works on, or leaves a grandchild that holds the pipes open.
Knows bytes and lines, nothing of the protocol.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections import deque
from pathlib import Path
from typing import IO

_CHUNK = 1 << 16
# Reads of leftovers after exit: what one pipe can hold, with room for a grandchild that still writes.
_DRAIN_READS = 1024


class Flood(Exception):
    """A stream past its bound; `stream` is "stdout" or "stderr"."""

    def __init__(self, stream: str, detail: str) -> None:
        super().__init__(detail)
        self.stream = stream


class Pipes:
    """Pumps one child: stdout into `lines`, each as it came, stderr into a file, `send` into stdin."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        stderr_path: Path,
        *,
        line_bytes: int,
        stdout_bytes: int,
        stderr_bytes: int,
    ) -> None:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        self.lines: deque[bytes] = deque()
        self.stdout_open = True
        self._stdout_closed_at = 0.0
        self.exited = False
        self.stdout_received = 0
        self.stderr_received = 0
        self._line_bytes = line_bytes
        self._stdout_bytes = stdout_bytes
        self._stderr_bytes = stderr_bytes
        self._child = child
        self._stdin, self._stdout, self._stderr = child.stdin, child.stdout, child.stderr
        self._partial = bytearray()
        self._scanned = 0
        self._unsent = bytearray()
        self._log = stderr_path.open("ab")
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._exit_descriptor: int | None = None
        if hasattr(os, "pidfd_open"):  # Linux: exit wakes the selector; elsewhere pump's timeout finds it
            self._exit_descriptor = os.pidfd_open(child.pid)
            self._selector.register(self._exit_descriptor, selectors.EVENT_READ)

    @property
    def stdout_closed_s(self) -> float:
        """Seconds since the child closed stdout; 0 while it is open."""
        return 0.0 if self.stdout_open else time.monotonic() - self._stdout_closed_at

    def send(self, data: bytes) -> None:
        """Queue bytes for stdin; they leave during `pump`."""
        if not self._unsent and not self._stdin.closed:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._unsent += data

    def pump(self, timeout: float) -> None:
        """Move what can be moved within `timeout` seconds. Raises Flood."""
        if self.exited:
            return
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._stdin:
                self._write()
            elif key.fileobj is self._stdout:
                self._read_stdout()
            elif key.fileobj is self._stderr:
                self._read_stderr()
        if self._child.poll() is not None:
            self.exited = True
            self._drain()

    def pump_into_log(self, seconds: float) -> None:
        """For `seconds`, or until the exit, put what either stream says into the log (a JVM's stacks come
        on stdout). What was on its way before counts as said."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(Flood):
            while not self.exited and (left := deadline - time.monotonic()) > 0:
                self.pump(left)
        for line in self.lines:
            self._log.write(line)
        self._log.write(self._partial)
        self._log.flush()

    def close_stdin(self) -> None:
        """End of input, which a trainer takes for `bye`."""
        if self._unsent:
            self._selector.unregister(self._stdin)
            self._unsent.clear()
        with contextlib.suppress(OSError):
            self._stdin.close()

    def close(self) -> None:
        """Let go of everything, once or again; a grandchild that holds the other ends cannot keep us."""
        self._selector.close()
        for stream in (self._stdin, self._stdout, self._stderr, self._log):
            with contextlib.suppress(OSError):
                stream.close()
        if self._exit_descriptor is not None:
            os.close(self._exit_descriptor)
            self._exit_descriptor = None

    def _drain(self) -> None:
        for _ in range(_DRAIN_READS):
            if not (self.stdout_open and self._read_stdout()):
                break
        for _ in range(_DRAIN_READS):
            if not self._read_stderr():
                break
        # What a dead process left without a newline is still its last word, and will not parse.
        if self._partial:
            self.lines.append(bytes(self._partial))
            self._partial.clear()

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # the reader is gone: its exit or its silence will say so
            self.close_stdin()
            return
        del self._unsent[:sent]
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _read_stdout(self) -> bool:
        chunk = _read(self._stdout)
        if chunk is None:
            return False
        if not chunk:
            self.stdout_open = False
            self._stdout_closed_at = time.monotonic()
            self._selector.unregister(self._stdout)
            return False
        self.stdout_received += len(chunk)
        self._partial += chunk
        while (end := self._partial.find(b"\n", self._scanned)) >= 0:
            self.lines.append(bytes(self._partial[: end + 1]))
            del self._partial[: end + 1]
            self._scanned = 0
        self._scanned = len(self._partial)
        if len(self._partial) > self._line_bytes:
            raise Flood("stdout", f"a line of more than {self._line_bytes} bytes")
        if self.stdout_received > self._stdout_bytes:
            raise Flood("stdout", f"more than {self._stdout_bytes} bytes in all")
        return True

    def _read_stderr(self) -> bool:
        chunk = _read(self._stderr)
        if chunk is None:
            return False
        if not chunk:
            if self._stderr in {key.fileobj for key in self._selector.get_map().values()}:
                self._selector.unregister(self._stderr)
            return False
        self.stderr_received += len(chunk)
        room = self._stderr_bytes - (self.stderr_received - len(chunk))
        self._log.write(chunk[: max(0, room)])
        self._log.flush()
        if self.stderr_received > self._stderr_bytes:
            raise Flood("stderr", f"more than {self._stderr_bytes} bytes")
        return True


def _read(stream: IO[bytes]) -> bytes | None:
    """A chunk, b"" at the end, None when there is nothing now."""
    try:
        return os.read(stream.fileno(), _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""
