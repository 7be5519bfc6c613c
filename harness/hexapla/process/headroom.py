"""What a device has and what a run will take of it, said before the run begins (case J4).

Separate because it is read once and judges nothing: a small headroom is a warning, since a device that
spills goes on rightly and slowly, and afterwards only step times show it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path

import psutil

from hexapla.process.device import NvmlGauge

SMALL_SHARE = 0.1
"""Less than this share of the device left free is a small headroom."""

_MIB = 1 << 20
_F32_BYTES = 4


@dataclass(frozen=True, slots=True)
class Headroom:
    """Bytes of one device, None where nobody can tell; `source` says who told. planned: what all
    implementations asked at once will hold, `basis` where that comes from."""

    device: str
    total: int | None
    free: int | None
    source: str
    planned: int | None
    basis: str

    @property
    def left(self) -> int | None:
        """What stays free; below 0 when the plan does not fit."""
        return None if self.free is None or self.planned is None else self.free - self.planned

    @property
    def small(self) -> bool:
        return self.left is not None and self.total is not None and self.left < SMALL_SHARE * self.total

    def lines(self) -> list[str]:
        """One line of figures, and a warning when the headroom is small."""
        planned = f"planned use {_mib(self.planned)} ({self.basis})" if self.planned is not None else ""
        words = [
            f"device {self.device}: total {_mib(self.total)}, free {_mib(self.free)} ({self.source})",
            planned or "planned use not available",
            f"headroom {_mib(self.left)}",
        ]
        found = [", ".join(words)]
        if self.small:
            found.append(
                f"warning: the headroom on {self.device} is small: a device that runs full may spill and "
                "become slow without an error; ask fewer implementations at once (--jobs)"
            )
        return found


def headroom_of(device: str, planned: int | None, basis: str) -> Headroom:
    """Read `cpu:N` from the operating system, `cuda:N` from NVML."""
    kind, _, index = device.partition(":")
    if kind == "cuda":
        gauge = NvmlGauge(int(index or 0))
        total, used = gauge.capacity_bytes(), gauge.used_bytes()
        free = None if total is None or used is None else total - used
        return Headroom(device, total, free, "NVML", planned, basis)
    memory = psutil.virtual_memory()
    return Headroom(device, memory.total, memory.available, "the operating system", planned, basis)


def weights_bytes(model: Path) -> int | None:
    """Device bytes of a model's weights in f32, from its safetensors headers; None when unreadable."""
    try:
        return sum(map(_f32_bytes, _headers(sorted(model.glob("*.safetensors"))))) or None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _headers(paths: Iterable[Path]) -> Iterable[dict[str, dict[str, list[int]]]]:
    for path in paths:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            yield json.loads(file.read(min(size, 100 * _MIB)))


def _f32_bytes(header: dict[str, dict[str, list[int]]]) -> int:
    shapes = (tensor["shape"] for name, tensor in header.items() if name != "__metadata__")
    return sum(_F32_BYTES * prod(shape) for shape in shapes)


def _mib(amount: int | None) -> str:
    return "not available" if amount is None else f"{amount / _MIB:,.0f} MiB"
