"""One look at a running process from outside: its memory, descriptors, children, and each OS thread.

Separate from the sampler, which looks again and again: here is what the kernel shows (psutil and /proc) and
nothing is kept. What cannot be read is None, never 0; a thread that ends while it is looked at is left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from hexapla.process.threads import thread_ids

_CORE = 36  # field 39 of /proc/<pid>/task/<tid>/stat, counted from 0 behind the name in parentheses


@dataclass(frozen=True, slots=True)
class TaskState:
    """An OS thread. core: it last ran on; affinity: those it may run on, as the kernel lists them ("0-1");
    voluntary, involuntary: context switches since it began."""

    core: int
    affinity: str
    voluntary: int
    involuntary: int


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process. Bytes of memory; descriptors: open files; children: the ids of all its descendants."""

    rss_bytes: int | None
    swap_bytes: int | None
    descriptors: int | None
    children: tuple[int, ...]
    threads: Mapping[int, TaskState]


def look(pid: int) -> ProcessState | None:
    """What it is now; None when it is gone."""
    rss: int | None = None
    descriptors: int | None = None
    try:
        process = psutil.Process(pid)
        rss = process.memory_info().rss
        descriptors = process.num_fds()
    except psutil.NoSuchProcess:
        return None
    except psutil.Error:
        pass  # not ours to read: it stays unknown
    threads = {}
    for thread in sorted(thread_ids(pid)):
        with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
            threads[thread] = _task(Path(f"/proc/{pid}/task/{thread}"))
    if not threads:
        return None
    return ProcessState(rss, _swap_bytes(pid), descriptors, tuple(sorted(_children(pid))), threads)


def _task(folder: Path) -> TaskState:
    behind_name = (folder / "stat").read_bytes().rpartition(b")")[2].split()
    status = _fields((folder / "status").read_text("utf-8", "replace"))
    return TaskState(
        core=int(behind_name[_CORE]),
        affinity=status["Cpus_allowed_list"],
        voluntary=int(status["voluntary_ctxt_switches"]),
        involuntary=int(status["nonvoluntary_ctxt_switches"]),
    )


def _swap_bytes(pid: int) -> int | None:
    with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
        words = _fields(Path(f"/proc/{pid}/status").read_text("utf-8", "replace"))["VmSwap"].split()
        return int(words[0]) << 10
    return None


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _children(pid: int) -> set[int]:
    """Descendants by the kernel's own lists; psutil would go through every process of the machine."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for thread in thread_ids(parent):
            with contextlib.suppress(OSError, ValueError):
                words = Path(f"/proc/{parent}/task/{thread}/children").read_text("ascii").split()
                new = {int(word) for word in words} - found
                found |= new
                waiting += new
    return found
