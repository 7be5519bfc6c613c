"""The sampler: looks at every running trainer from outside, again and again, and writes down what it saw.

Separate because nobody may have to trust a trainer's own word for the threads, memory and descriptors it
used. One thread for a whole run. It pays for itself: the time to the next look follows from what the looks
so far have cost, so that its processor time stays at most `share` of the wall time in which it has somebody
to look at. It judges nothing.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hexapla.process.device_memory import CoreCounters, DeviceReading, DeviceSource, Driver, read_device
from hexapla.process.tasks import ProcessState, TaskState, look
from hexapla.protocol import ledger

SHARE = 0.01
"""The most that it may cost: processor time of this thread over the wall time of the run."""

_LEAST_SECONDS = 0.1
_PLANNED = 0.7  # of the share; the rest is for what is counted when a request or a process ends


@dataclass
class _Watched:
    """One running process: what it is called, and what was seen of it so far."""

    name: str
    pid: int
    ledger: Path | None = None
    records_seen: int = 0
    samples: int = 0
    threads: dict[int, TaskState] = field(default_factory=dict)
    core_changes: int = 0
    affinity_changes: int = 0
    calls: Counter[tuple[int, int]] = field(default_factory=Counter)
    calls_missed: int = 0
    peaks: dict[str, int] = field(default_factory=dict)
    device: DeviceReading | None = None


class Sampler:
    """Watches processes until they are forgotten. Any thread may call it.

    folder: `<name>.jsonl` is written there, a line a sample (docs/protocol.md, "samples").
    sources: who may know the device's memory, in this order.
    """

    def __init__(
        self,
        folder: Path,
        sources: Sequence[DeviceSource] = (CoreCounters(), Driver()),
        share: float = SHARE,
    ) -> None:
        self._folder = folder
        self._sources = tuple(sources)
        self._share = share
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._watched: dict[int, _Watched] = {}
        self._thread: threading.Thread | None = None
        self._started = time.monotonic()
        self._watching_since: float | None = None
        self._watched_seconds = 0.0
        self._cpu_seconds = 0.0

    @property
    def cpu_seconds(self) -> float:
        """Processor time that looking and counting have cost so far."""
        return self._cpu_seconds

    @property
    def cpu_share(self) -> float:
        """That over the wall time in which there was a process to look at."""
        return self._cpu_seconds / max(self._wall_seconds(), 1e-9)

    def watch(self, name: str, pid: int) -> None:
        """A process has begun."""
        with self._lock:
            if not self._watched:
                self._watching_since = time.monotonic()
            self._watched[pid] = _Watched(name, pid)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hexapla-sampler", daemon=True)
                self._thread.start()
        self._wake.set()

    def ledger(self, pid: int, path: Path | None) -> None:
        """The process writes its calls into another file from now on; None: into none."""
        with self._lock:
            watched = self._watched.get(pid)
            if watched is not None:
                self._charged(self._count_calls, watched)
                watched.ledger, watched.records_seen = path, 0

    def forget(self, pid: int) -> None:
        """It has ended: what was seen of it in all is written down."""
        with self._lock:
            watched = self._watched.pop(pid, None)
            if watched is not None:
                self._charged(self._count_calls, watched)
                self._write(watched, {"summary": self._summary(watched)})
                if not self._watched:
                    self._watched_seconds, self._watching_since = self._wall_seconds(), None

    def _run(self) -> None:
        while True:
            with self._lock:
                watched = list(self._watched.values())
            if not watched:
                self._wake.wait()
                self._wake.clear()
                continue
            for each in watched:
                with self._lock:
                    if each.pid in self._watched:
                        self._charged(self._sample, each)
            affordable = self._cpu_seconds / (_PLANNED * self._share) - self._wall_seconds()
            time.sleep(max(_LEAST_SECONDS, affordable))

    def _wall_seconds(self) -> float:
        since = self._watching_since
        return self._watched_seconds + (time.monotonic() - since if since is not None else 0.0)

    def _charged(self, action: Callable[[_Watched], object], watched: _Watched) -> None:
        before = time.thread_time()
        action(watched)
        self._cpu_seconds += time.thread_time() - before

    def _sample(self, watched: _Watched) -> None:
        state = look(watched.pid)
        if state is None:
            return
        calls = self._count_calls(watched)
        device = read_device(watched.pid, watched.ledger, self._sources)
        changes = _changes(watched, state)
        _remember(watched, state, device)
        line: dict[str, Any] = {
            "time_s": round(time.monotonic() - self._started, 3),
            "pid": watched.pid,
            "rss_bytes": state.rss_bytes,
            "swap_bytes": state.swap_bytes,
            "descriptors": state.descriptors,
            "children": list(state.children),
            "device_bytes": device.figure,
            "device_source": device.source,
            "device_whole": device.whole_device,
            "threads": {
                thread: [task.core, task.affinity, task.voluntary, task.involuntary]
                for thread, task in state.threads.items()
            },
            "affinity_changes": changes,
            "calls": _by_context(calls),
        }
        self._write(watched, line)

    def _count_calls(self, watched: _Watched) -> Counter[tuple[int, int]]:
        """Calls since the last look, by context and OS thread."""
        if watched.ledger is None:
            return Counter()
        records, written = ledger.read_since(watched.ledger, watched.records_seen)
        watched.calls_missed += written - watched.records_seen - len(records)
        watched.records_seen = written
        keys = (records["context"] << np.uint64(32)) | records["thread"].astype(np.uint64)
        found: Counter[tuple[int, int]] = Counter()
        for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
            found[int(key) >> 32, int(key) & 0xFFFFFFFF] = int(count)
        watched.calls.update(found)
        return found

    def _summary(self, watched: _Watched) -> dict[str, Any]:
        device = watched.device
        return {
            "pid": watched.pid,
            "samples": watched.samples,
            "threads_seen": len(watched.threads),
            "core_changes": watched.core_changes,
            "affinity_changes": watched.affinity_changes,
            "switches_voluntary": sum(task.voluntary for task in watched.threads.values()),
            "switches_involuntary": sum(task.involuntary for task in watched.threads.values()),
            **{f"{name}_peak": watched.peaks.get(name) for name in _PEAKS},
            "device_source": device.source if device is not None else None,
            "calls": _by_context(watched.calls),
            "calls_missed": watched.calls_missed,
            "sampler_cpu_share": round(self.cpu_share, 5),
        }

    def _write(self, watched: _Watched, value: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # a full disk is found by whoever writes the results
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / f"{watched.name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(value) + "\n")


_PEAKS = ("rss_bytes", "swap_bytes", "descriptors", "children", "device_bytes")


def _changes(watched: _Watched, state: ProcessState) -> list[dict[str, Any]]:
    """Affinity masks that changed since the last look; cores are counted, they change all the time."""
    found = []
    for thread, task in state.threads.items():
        before = watched.threads.get(thread)
        if before is None:
            continue
        watched.core_changes += before.core != task.core
        if before.affinity != task.affinity:
            found.append({"thread": thread, "was": before.affinity, "is": task.affinity})
    watched.affinity_changes += len(found)
    return found


def _remember(watched: _Watched, state: ProcessState, device: DeviceReading) -> None:
    watched.samples += 1
    watched.threads.update(state.threads)
    if device.bytes is not None or watched.device is None:
        watched.device = device
    seen = {
        "rss_bytes": state.rss_bytes,
        "swap_bytes": state.swap_bytes,
        "descriptors": state.descriptors,
        "children": len(state.children),
        "device_bytes": device.bytes,
    }
    for name, value in seen.items():
        if value is not None:
            watched.peaks[name] = max(value, watched.peaks.get(name, value))


def _by_context(calls: Counter[tuple[int, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (context, thread), count in sorted(calls.items()):
        found.setdefault(str(context), {})[str(thread)] = count
    return found
