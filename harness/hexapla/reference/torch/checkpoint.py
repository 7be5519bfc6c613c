"""Checkpoints: written beside, synced, renamed; read back to the same bits.

Separate because a half-written folder must never look like a whole one. It moves tensors and checks
them; it takes no training decision.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from .adapter import CONFIG_FILE, TENSOR_FILE, shapes
from .failure import Failure
from .optimizer import AdamW
from .weights import check_shapes, read_metadata, read_tensors, sync, write_tensors

OPTIMIZER_FILE = "optimizer.safetensors"
Parameters = dict[str, torch.nn.Parameter]


def checkpoint_path(output: str, update: int) -> Path:
    """The folder of the checkpoint after `update`."""
    return Path(output) / f"checkpoint-{update:06d}"


def prepare_output(output: str, updates: list[int]) -> None:
    """Make the folder; refuse checkpoints that exist, remove left-over partial ones. Before update 1."""
    for update in updates:
        path = checkpoint_path(output, update)
        if path.exists():
            raise Failure("io", "the checkpoint exists: give another output or remove it", str(path))
    try:
        Path(output).mkdir(parents=True, exist_ok=True)
        for update in updates:
            partial = _partial(checkpoint_path(output, update))
            if partial.exists():
                shutil.rmtree(partial)
    except OSError as error:
        where = str(error.filename or output)
        raise Failure("io", f"cannot prepare the output: {error.strerror}", where) from None


def save_checkpoint(
    path: Path, adapter_config: Path, metadata: dict[str, str], parameters: Parameters, optimizer: AdamW
) -> None:
    """Write the checkpoint folder `path`; `metadata` is what `read_update` will look for."""
    partial = _partial(path)
    try:
        partial.mkdir()
        adapter = {name: value.detach().contiguous() for name, value in parameters.items()}
        write_tensors(adapter, partial / TENSOR_FILE, {"format": "pt"})
        shutil.copyfile(adapter_config, partial / CONFIG_FILE)
        sync(partial / CONFIG_FILE)
        write_tensors(_optimizer_tensors(optimizer), partial / OPTIMIZER_FILE, metadata)
        sync(partial)
        partial.rename(path)
        sync(path.parent)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise Failure("io", f"cannot write the checkpoint: {error.strerror or error}", str(path)) from None


def read_update(folder: str, spec_digest: str) -> int:
    """The update after which the checkpoint was saved; another specification is refused."""
    path = Path(folder) / OPTIMIZER_FILE
    read_tensors(path, "checkpoint", ("F32",))
    metadata = read_metadata(path)
    if metadata.get("spec_digest") != spec_digest:
        message = f"spec_digest is {metadata.get('spec_digest')}, the request has {spec_digest}"
        raise Failure("checkpoint", message, f"{path}: spec_digest")
    text = metadata.get("update", "")
    if not (text.isascii() and text.isdigit()):
        raise Failure("checkpoint", f"update must be a decimal number, not {text!r}", f"{path}: update")
    return int(text)


def restore_optimizer(folder: str, optimizer: AdamW, update: int) -> None:
    """Give the optimizer the moments of the checkpoint and its update count."""
    path = Path(folder) / OPTIMIZER_FILE
    stored = read_tensors(path, "checkpoint", ("F32",))
    check_shapes(shapes(_optimizer_tensors(optimizer)), shapes(stored), "the optimizer state", str(path))
    for name in optimizer.parameters:
        optimizer.set_state(name, update, stored[f"exp_avg.{name}"], stored[f"exp_avg_sq.{name}"])


def _optimizer_tensors(optimizer: AdamW) -> dict[str, torch.Tensor]:
    tensors = {}
    for name in optimizer.parameters:
        moment, square = optimizer.moments(name)
        tensors[f"exp_avg.{name}"], tensors[f"exp_avg_sq.{name}"] = moment, square
    return tensors


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")
