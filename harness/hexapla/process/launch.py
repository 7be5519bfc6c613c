"""How one implementation is started: the words that the process layer is given.

Separate so that whoever prepares a launch imports no process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hexapla.process.device import DeviceWatch
from hexapla.process.sampler import Sampler


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what a trainer may print, in bytes. A line's bound is PROTOCOL's."""

    line_bytes: int = 16 << 20
    stdout_bytes: int = 8 << 30
    stderr_bytes: int = 64 << 20


@dataclass(frozen=True)
class Launch:
    """How to start one implementation, and where its words go.

    `device`: what holds the device to its level at the start; `sampler`: who looks at the process while it
    runs; each None where nobody asks. `core_fault`: the fault that core was built and started with, "none"
    for the same build with no fault on; "" is a normal run, which refuses a core that can be made wrong.
    """

    name: str
    argv: list[str]
    directory: Path
    environment: dict[str, str]
    language: str
    silence_s: float
    results: Path
    limits: Limits = field(default_factory=Limits)
    device: DeviceWatch | None = None
    sampler: Sampler | None = None
    core_fault: str = ""

    @property
    def stderr_path(self) -> Path:
        return self.results / "stderr" / f"{self.name}.log"

    @property
    def events_folder(self) -> Path:
        return self.results / "events" / self.name
