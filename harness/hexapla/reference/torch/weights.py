"""Safetensors files: reading with every doubt refused, writing to disk for good, and digests.

Separate because models, adapters, optimizer state and operator cases all live in this format. The
library checks offsets and sizes; what it lets pass (a name twice, stored dtypes) is checked here.
Nothing here knows which names a model needs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from .failure import Failure
from .strict_json import LineError, parse_line

# Names as the format writes them; all three widen exactly to f32.
FLOAT_DTYPES = ("F32", "F16", "BF16")


def read_header(path: Path, status: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return name → (stored dtype, shape) after the library has accepted the file's layout."""
    where = str(path)
    try:
        with safe_open(path, framework="pt"):
            pass  # the library refuses wrong lengths, holes, overlaps, dtypes and byte counts
        with path.open("rb") as file:
            header = parse_line(file.read(int.from_bytes(file.read(8), "little")))
    except OSError as error:
        raise Failure("io", f"cannot read the file: {error.strerror or error}", where) from None
    except (SafetensorError, LineError) as error:
        raise Failure(status, f"not a usable safetensors file: {error}", where) from None
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], tuple(entry["shape"])) for name, entry in header.items()}


def read_tensors(path: Path, status: str, dtypes: Iterable[str]) -> dict[str, torch.Tensor]:
    """Return every tensor of the file as f32; a dtype outside `dtypes` is refused."""
    for name, (dtype, _) in read_header(path, status).items():
        if dtype not in dtypes:
            message = f"{name} is stored as {dtype}, expected {' or '.join(dtypes)}"
            raise Failure(status, message, f"{path}: {name}")
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).to(torch.float32) for name in file.keys()}  # noqa: SIM118 - no mapping


def read_metadata(path: Path) -> dict[str, str]:
    """Return the file's free-text metadata (empty if it has none); the file has been checked before."""
    with safe_open(path, framework="pt") as file:
        return file.metadata() or {}


def check_shapes(
    expected: Mapping[str, tuple[int, ...]], stored: Mapping[str, tuple[int, ...]], what: str, where: str
) -> None:
    """Refuse a stored set of names or shapes that is not the expected one, with counts and first names."""
    missing = [name for name in expected if name not in stored]
    unexpected = [name for name in stored if name not in expected]
    wrong = [name for name in expected if name in stored and stored[name] != expected[name]]
    if not (missing or unexpected or wrong):
        return
    parts = [
        f"{label} {len(names)} (first {names[0]})"
        for label, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    if wrong:
        name = wrong[0]
        shapes = f"{list(stored[name])}, expected {list(expected[name])}"
        parts.append(f"wrong shape {len(wrong)} (first {name}: {shapes})")
    raise Failure("checkpoint", f"{what} does not fit: {'; '.join(parts)}", where)


def write_tensors(tensors: dict[str, torch.Tensor], path: Path, metadata: dict[str, str]) -> None:
    """Write the file and wait until it is on the disk."""
    try:
        save_file(tensors, path, metadata)
    except SafetensorError as error:
        raise OSError(None, str(error), str(path)) from None
    sync(path)


def sync(path: Path) -> None:
    """Wait until a file or a folder's entries are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest(tensors: Iterable[torch.Tensor]) -> str:
    """SHA-256 hex of the tensors' f32 values, little-endian, row-major, one after another."""
    state = hashlib.sha256()
    for tensor in tensors:
        values = tensor.detach().contiguous().cpu().numpy().astype("<f4", copy=False)
        state.update(values.tobytes())
    return state.hexdigest()
