"""A test double of a device: its memory is a folder with one file a holder, named by its process id."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import psutil


class FakeDeviceGauge:
    """Memory that a process holds until it ends. `names_holders` False: a device that hides process ids."""

    def __init__(self, folder: Path, names_holders: bool = True) -> None:
        self._folder = folder
        self._names_holders = names_holders

    def used_bytes(self) -> int:
        return sum(self._held().values())

    def holders(self) -> Mapping[int, int] | None:
        return self._held() if self._names_holders else None

    def _held(self) -> dict[int, int]:
        held = {int(path.name): int(path.read_text() or 0) for path in self._folder.iterdir()}
        return {pid: held_bytes for pid, held_bytes in held.items() if psutil.pid_exists(pid)}
