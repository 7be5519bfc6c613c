"""The OS threads of a running trainer: how many core made, and which cores they may run on.

Separate because it reaches into another process by its id, through /proc and the scheduler: whoever asks
only has a session. A thread that ends while it is looked at is no error. Nothing here keeps a record; that
is the sampler's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

CORE_NAMES = "hexapla-"
"""How core names its workers."""


def thread_ids(pid: int) -> set[int]:
    """Kernel ids of the threads that the process has now; empty when it is gone."""
    with contextlib.suppress(OSError):
        return {int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()}
    return set()


def core_threads(pid: int) -> int:
    """How many of its threads are core's own, by their names."""
    return sum(name.startswith(CORE_NAMES) for name in _names(pid))


def hold(pid: int, cores: frozenset[int]) -> None:
    """Let every thread run on `cores` only. Those made later inherit it from the thread that makes them."""
    held: set[int] = set()
    while new := thread_ids(pid) - held:
        for thread in new:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)
        held |= new


def allowed(pid: int) -> frozenset[int]:
    """The cores that any of its threads may run on; empty when it is gone."""
    cores: set[int] = set()
    for thread in thread_ids(pid):
        with contextlib.suppress(ProcessLookupError):
            cores |= os.sched_getaffinity(thread)
    return frozenset(cores)


def _names(pid: int) -> Iterator[str]:
    for thread in thread_ids(pid):
        with contextlib.suppress(OSError):
            yield Path(f"/proc/{pid}/task/{thread}/comm").read_text("utf-8", "replace").strip()
