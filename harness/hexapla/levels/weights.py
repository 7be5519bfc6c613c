"""Reading a model folder's tensors without any implementation's help.

Separate because `loading` needs a judge that shares no code with what it judges: the header is parsed
here with json and struct, values are widened with NumPy. Trusts nothing in the file: offsets are
checked before they are used.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_BYTES = {"F32": 4, "F16": 2, "BF16": 2}


class WeightsError(ValueError):
    """A model folder that cannot be read; file, tensor, what is wrong."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor as stored: digest is SHA-256 of its f32 little-endian values, row-major, after widening."""

    name: str
    shape: list[int]
    dtype: str
    digest: str


def read_weights(folder: Path) -> list[Weight]:
    """All tensors of a folder, one file or a sharded index, sorted by name bytes; a tied head is left out."""
    weights = [weight for path in _files(folder) for weight in _weights(path)]
    if _config(folder).get("tie_word_embeddings"):
        weights = [weight for weight in weights if weight.name != "lm_head.weight"]
    return sorted(weights, key=lambda weight: weight.name.encode())


def _config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{folder / 'config.json'}: {error}") from None
    if not isinstance(config, dict):
        raise WeightsError(f"{folder / 'config.json'}: not an object")
    return config


def _files(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return [folder / "model.safetensors"]
    try:
        names = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise WeightsError(f"{index}: {error!r}") from None
    return [folder / name for name in sorted(names)]


def _weights(path: Path) -> Iterator[Weight]:
    try:
        raw = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path}: {error}") from None
    if raw.size < 8:
        raise WeightsError(f"{path}: {raw.size} bytes are no safetensors file")
    (length,) = struct.unpack("<Q", raw[:8].tobytes())
    if length > raw.size - 8:
        raise WeightsError(f"{path}: a header of {length} bytes in a file of {raw.size}")
    header = json.loads(raw[8 : 8 + length].tobytes())
    data = raw[8 + length :]
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape = entry["dtype"], entry["shape"]
        begin, end = entry["data_offsets"]
        if dtype not in _BYTES:
            raise WeightsError(
                f"{path}: tensor {name} has dtype {dtype}; a float loader takes {', '.join(_BYTES)}"
            )
        size = int(np.prod(shape, dtype=object)) * _BYTES[dtype]
        if not 0 <= begin <= end <= data.size or end - begin != size:
            raise WeightsError(f"{path}: tensor {name} of shape {shape} does not fit bytes {begin} to {end}")
        values = widen(data[begin:end].tobytes(), dtype)
        yield Weight(name, shape, dtype, hashlib.sha256(values.tobytes()).hexdigest())


def widen(raw: bytes, dtype: str) -> npt.NDArray[np.float32]:
    """Stored bytes as f32 values, exact. `dtype` as safetensors names it."""
    if dtype == "F32":
        return np.frombuffer(raw, "<f4")
    if dtype == "F16":
        return np.frombuffer(raw, "<f2").astype("<f4")
    return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
