"""How long the threads of a trainer stood ready without a core, step by step: the witness of a busy machine.

Separate because it reads /proc while a request runs, from the thread that hears its events. Where the kernel
keeps no such account nothing is known, and that is not 0.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

from hexapla.process.threads import thread_ids
from hexapla.protocol import Event, Step


class Waiting:
    """Hears the events of one train request. `milliseconds`: one value a step, None where it is not known."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = waited_ms(pid)
        self._steps: list[float | None] = []

    def hear(self, event: Event) -> None:
        """Take the time between two steps."""
        if isinstance(event, Step):
            now = waited_ms(self._pid)
            known = now is not None and self._before is not None
            self._steps.append(max(0.0, now - self._before) if known else None)  # type: ignore[operator]
            self._before = now

    @property
    def milliseconds(self) -> tuple[float, ...] | None:
        known = [each for each in self._steps if each is not None]
        return tuple(known) if len(known) == len(self._steps) else None


def waited_ms(pid: int) -> float | None:
    """Milliseconds that the threads alive now have spent in the run queue, and that this machine's own host
    has taken from all cores; None where nobody counts the first."""
    total, known = 0, False
    for thread in thread_ids(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text("ascii").split()
            total += int(words[1])
            known = True
    return total / 1e6 + psutil.cpu_times().steal * 1e3 if known else None
