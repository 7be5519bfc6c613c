"""Checkpoint folders: written whole or not at all, and resumed from."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from hexapla_core.safe import Checkpoint, Context, NotFound, commit_checkpoint, write_checkpoint
from hexapla_core.trainer.adapter import (
    ADAPTER_FILE,
    CONFIG_FILE,
    EXP_AVG,
    EXP_AVG_SQ,
    OPTIMIZER_FILE,
    Adapter,
    Moments,
    adapter_shapes,
    close_all,
    load_adapter,
    read_tensors,
)
from hexapla_core.trainer.failure import Failure, located
from hexapla_core.trainer.model import Config
from hexapla_core.trainer.spec import Spec


def folder_of(output: str, update: int) -> Path:
    """The checkpoint of an update."""
    return Path(output) / f"checkpoint-{update:06d}"


def prepare_output(output: str, updates: Iterable[int]) -> None:
    """Make the folder; a checkpoint about to be written that exists is refused before the first update."""
    with located(output):
        Path(output).mkdir(parents=True, exist_ok=True)
        for update in updates:
            folder = folder_of(output, update)
            if folder.exists() or folder.is_symlink():
                raise Failure("io", "exists already; choose another output", str(folder))


def save(  # noqa: PLR0913, PLR0917 (what a checkpoint holds)
    output: str, update: int, adapter: Adapter, moments: Moments, adapter_config: bytes, spec_digest: str
) -> Path:
    """Write one checkpoint: `.partial`, synced, renamed. Raises Failure; a failed one leaves none behind."""
    final = folder_of(output, update)
    partial = final.with_name(final.name + ".partial")
    with located(str(final)):
        _remove(partial)
        partial.mkdir()
        try:
            write_checkpoint(partial / ADAPTER_FILE, adapter.tensors)
            (partial / CONFIG_FILE).write_bytes(adapter_config)
            metadata = {"update": str(update), "spec_digest": spec_digest}
            write_checkpoint(partial / OPTIMIZER_FILE, moments.named(), metadata)
            commit_checkpoint(partial, final)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return final


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def resume(
    context: Context, folder: str, config: Config, spec: Spec, spec_digest: str
) -> tuple[int, Adapter, Moments]:
    """The update that a checkpoint was saved after, its adapter and moments. Raises Failure."""
    path = str(Path(folder) / OPTIMIZER_FILE)
    with located(path), ExitStack() as on_failure, Checkpoint(path) as checkpoint:
        update = _update(checkpoint, path)
        stored = _metadata(checkpoint, "spec_digest", path)
        if stored != spec_digest:
            raise Failure("checkpoint", f"spec_digest is {stored}, this run's is {spec_digest}", path)
        shapes = adapter_shapes(config, spec)
        adapter = on_failure.enter_context(load_adapter(context, folder, config, spec))
        wanted = {prefix + name: shape for name, shape in shapes.items() for prefix in (EXP_AVG, EXP_AVG_SQ)}
        tensors = read_tensors(context, checkpoint, wanted, path)
        on_failure.callback(close_all, tensors)
        moments = Moments(
            {name: tensors[EXP_AVG + name] for name in shapes},
            {name: tensors[EXP_AVG_SQ + name] for name in shapes},
        )
        on_failure.pop_all()
    return update, adapter, moments


def _metadata(checkpoint: Checkpoint, key: str, path: str) -> str:
    try:
        return checkpoint.metadata(key)
    except NotFound:
        raise Failure("checkpoint", f"metadata lacks {key}", path) from None


def _update(checkpoint: Checkpoint, path: str) -> int:
    text = _metadata(checkpoint, "update", path)
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise Failure("checkpoint", f"metadata update is {text!r:.40}, must be a decimal number", path)
    return int(text)
