"""Checkpoint folders: written beside their place, synced, renamed. Separate from the adapter's reading:
this is the one stage that changes files.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from hexapla_native import commit_folder, write_checkpoint

from hexapla_native_trainer.adapter import (
    CONFIG_FILE,
    MOMENTS,
    OPTIMIZER_FILE,
    WEIGHTS_FILE,
    Adapter,
    Moments,
)
from hexapla_native_trainer.refusal import At, Refusal


@dataclass(frozen=True)
class Checkpoints:
    """Where a run's checkpoints go, and what all of them say alike."""

    output: str
    adapter_config: bytes
    spec_digest: str

    def path(self, update: int) -> Path:
        return Path(self.output) / f"checkpoint-{update:06d}"

    def prepare(self, updates: list[int]) -> None:
        """Make the folder; refuse before the first update what could not be written after it."""
        with At(self.output):
            Path(self.output).mkdir(parents=True, exist_ok=True)
        for update in updates:
            path = self.path(update)
            if path.exists() or path.is_symlink():
                raise Refusal("io", f"{path}: exists already; name another output folder", str(path))
            with At(str(path)):
                _remove(_partial(path))

    def save(self, update: int, adapter: Adapter, moments: Moments) -> Path:
        """Write one whole. Raises Refusal with core's status or `io`; then no folder of that name stands."""
        path = self.path(update)
        partial = _partial(path)
        names = [f"{moment}.{name}" for name in adapter.names for moment in MOMENTS]
        metadata = [("update", str(update)), ("spec_digest", self.spec_digest)]
        with At(str(path)):
            _remove(partial)
            partial.mkdir()
            write_checkpoint(str(partial / WEIGHTS_FILE), adapter.names, adapter.tensors, [])
            (partial / CONFIG_FILE).write_bytes(self.adapter_config)
            write_checkpoint(str(partial / OPTIMIZER_FILE), names, moments.interleaved(), metadata)
            commit_folder(str(partial), str(path))
        return path


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
