"""Checkpoint folders: written whole or not at all, and read back to the very bits.

Apart from training because what a file rounds must be undone here: see the package's text on
`oracle_float64`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .adapter import ADAPTER_CONFIG, ADAPTER_FILE, Adapter, read_adapter, take_adapter
from .events import Event
from .failure import Failure, io_failure
from .tensors import Float64, TensorFile, digest, read_tensors, write_tensors

OPTIMIZER_FILE = "optimizer.safetensors"
EXACT_FILE = "oracle_float64.safetensors"


@dataclass
class State:
    """All that changes in a run, in float64: the adapter, both moments, and the number of updates done."""

    update: int
    adapter: Adapter
    exp_avg: Adapter
    exp_avg_sq: Adapter

    @staticmethod
    def begin(adapter: Adapter) -> State:
        """The state before update 1."""
        zeros = {name: np.zeros_like(values) for name, values in adapter.items()}
        return State(0, adapter, zeros, {name: values.copy() for name, values in zeros.items()})

    def moments(self) -> dict[str, Float64]:
        """exp_avg, then exp_avg_sq, of each adapter tensor, under the names of the file."""
        made: dict[str, Float64] = {}
        for name in self.adapter:
            made[f"exp_avg.{name}"] = self.exp_avg[name]
            made[f"exp_avg_sq.{name}"] = self.exp_avg_sq[name]
        return made


def checkpoint_path(output: Path, update: int) -> Path:
    return output / f"checkpoint-{update:06d}"


def refuse_existing(output: Path, updates: Iterable[int]) -> None:
    """Raise Failure (`io`) if one of the checkpoints about to be written exists."""
    for update in updates:
        path = checkpoint_path(output, update)
        if os.path.lexists(path):
            raise Failure("io", f"{path} exists; move it away or choose another output", str(path))


def save(output: Path, state: State, adapter_config: bytes, spec_digest: str) -> Event:
    """Write the checkpoint of `state`, return its event; a Failure (`io`) leaves no half-written folder."""
    path = checkpoint_path(output, state.update)
    partial = path.with_name(path.name + ".partial")
    try:
        if os.path.lexists(partial):
            shutil.rmtree(partial)
        partial.mkdir(parents=True)
        _write(partial, state, adapter_config, spec_digest)
        _sync(partial)
        refuse_existing(output, [state.update])
        partial.rename(path)
        _sync(output)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise io_failure(error, path) from error
    except Failure:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return {
        "event": "checkpoint",
        "step": state.update,
        "path": str(path),
        "adapter_digest": digest(state.adapter.values()),
        "optimizer_digest": digest(state.moments().values()),
    }


def _write(folder: Path, state: State, adapter_config: bytes, spec_digest: str) -> None:
    moments = state.moments()
    metadata = {"update": str(state.update), "spec_digest": spec_digest}
    write_tensors(folder / ADAPTER_FILE, _rounded(state.adapter), {"format": "pt"})
    write_tensors(folder / OPTIMIZER_FILE, _rounded(moments), metadata)
    write_tensors(folder / EXACT_FILE, {**state.adapter, **moments}, {})
    with (folder / ADAPTER_CONFIG).open("wb") as file:
        file.write(adapter_config)
        file.flush()
        os.fsync(file.fileno())


def _rounded(tensors: Mapping[str, Float64]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return {name: values.astype(np.float32) for name, values in tensors.items()}


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def resume(folder: Path, shapes: Mapping[str, tuple[int, ...]], spec_digest: str) -> State:
    """Read a checkpoint, the oracle's or another trainer's; raises Failure (`checkpoint`, `io`)."""
    file = read_tensors(folder / OPTIMIZER_FILE)
    update = _update_of(file, spec_digest)
    adapter = read_adapter(folder, shapes)
    moment_shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        moment_shapes[f"exp_avg.{name}"] = shape
        moment_shapes[f"exp_avg_sq.{name}"] = shape
    moments = take_adapter(file, moment_shapes)
    if (folder / EXACT_FILE).exists():
        exact = read_tensors(folder / EXACT_FILE)
        _refine(adapter, exact)
        _refine(moments, exact)
    return State(
        update,
        adapter,
        {name: moments[f"exp_avg.{name}"] for name in shapes},
        {name: moments[f"exp_avg_sq.{name}"] for name in shapes},
    )


def _update_of(file: TensorFile, spec_digest: str) -> int:
    found = file.metadata.get("spec_digest")
    if found != spec_digest:
        message = f"{file.path}: spec_digest is {found}, this run's is {spec_digest}"
        raise Failure("checkpoint", message, "spec_digest")
    update = file.metadata.get("update", "")
    if not (update.isascii() and update.isdigit() and 1 <= len(update) <= 9):
        raise Failure("checkpoint", f"{file.path}: update is {update!r}, expected a decimal number", "update")
    return int(update)


def _refine(tensors: Adapter, exact: TensorFile) -> None:
    """Take the unrounded values of each tensor whose float32 twin they still round to."""
    for name, values in tensors.items():
        stored = exact.tensors.get(name)
        if stored is None or stored.dtype != "F64" or stored.shape != values.shape:
            continue
        unrounded = stored.float64()
        if unrounded.astype("<f4").tobytes() == values.astype("<f4").tobytes():
            tensors[name] = unrounded
