"""Safetensors files, read and written byte by byte, and float32 digests.

Apart from models and checkpoints because both use it, and instead of the `safetensors` package because its
NumPy side has no BF16 and names no reason when it refuses a file. Nothing is allocated that is larger than
the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .failure import Failure, io_failure, read_bytes
from .fields import integers
from .strict_json import Json, parse

Float64 = NDArray[np.float64]

_ITEM_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1,
    "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
_HEADER_BYTES_MAX = 100_000_000


@dataclass(frozen=True)
class Stored:
    """One tensor as it lies in a file: `dtype` is the file's word, `data` its bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: memoryview
    path: Path

    def widen(self) -> NDArray[np.float32]:
        """The values as float32, exactly; raises Failure (`checkpoint`) for a type that is not F32, F16 or
        BF16."""
        if self.dtype == "F32":
            values = np.frombuffer(self.data, "<f4")
        elif self.dtype == "F16":
            values = np.frombuffer(self.data, "<f2").astype(np.float32)
        elif self.dtype == "BF16":
            values = (np.frombuffer(self.data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            message = f"{self.path}: {self.name} is stored as {self.dtype}; give weights in F32, F16 or BF16"
            raise Failure("checkpoint", message, self.name)
        return values.reshape(self.shape)

    def float64(self) -> Float64:
        """The values as float64, from F64 or any type that `widen` takes."""
        if self.dtype == "F64":
            return np.frombuffer(self.data, "<f8").reshape(self.shape).astype(np.float64)
        return self.widen().astype(np.float64)


@dataclass
class TensorFile:
    """A whole file: tensors by name, and its metadata."""

    path: Path
    tensors: dict[str, Stored] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)


def read_tensors(path: Path) -> TensorFile:
    """Read one safetensors file; raises Failure (`checkpoint`, where = the tensor or the file; or `io`)."""
    content = read_bytes(path)
    try:
        return _decode(path, content)
    except ValueError as error:
        raise Failure("checkpoint", f"{path}: {error}", str(path)) from error


def _decode(path: Path, content: bytes) -> TensorFile:
    if len(content) < 8:
        raise ValueError(f"{len(content)} bytes are no safetensors file")
    (header_bytes,) = struct.unpack_from("<Q", content)
    if header_bytes > min(len(content) - 8, _HEADER_BYTES_MAX):
        raise ValueError(
            f"the header's length {header_bytes} passes the end of the file ({len(content)} bytes)"
        )
    header = parse(content[8 : 8 + header_bytes])
    if not isinstance(header, dict):
        raise ValueError("the header is not an object")
    made = TensorFile(path)
    data = memoryview(content)[8 + header_bytes :]
    ranges: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        if name == "__metadata__":
            made.metadata = _metadata(entry)
            continue
        dtype, shape, begin, end = _entry(name, entry, len(data))
        ranges.append((begin, end, name))
        made.tensors[name] = Stored(name, dtype, shape, data[begin:end], path)
    position = 0
    for begin, end, name in sorted(ranges):
        if begin != position:
            raise ValueError(f"{name} begins at {begin}, the tensor before it ends at {position}")
        position = end
    if position != len(data):
        raise ValueError(f"{len(data) - position} bytes lie behind the last tensor")
    return made


def _metadata(entry: Json) -> dict[str, str]:
    if entry is None:  # some writers say null for none
        return {}
    if not isinstance(entry, dict):
        raise ValueError("__metadata__ is not an object")
    metadata: dict[str, str] = {}
    for key, value in entry.items():
        if not isinstance(value, str):
            raise ValueError(f"the metadata's {key} is not a string")
        metadata[key] = value
    return metadata


def _entry(name: str, entry: Json, data_bytes: int) -> tuple[str, tuple[int, ...], int, int]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{name} must have dtype, shape and data_offsets, nothing else")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _ITEM_BYTES:
        raise ValueError(f"{name} has the unknown dtype {dtype}")
    if integers(shape) is not None or any(size < 0 for size in shape):  # type: ignore
        raise ValueError(f"{name} has the shape {shape}")
    if integers(offsets) is not None or len(offsets) != 2:  # type: ignore
        raise ValueError(f"{name} has the offsets {offsets}")
    begin, end = offsets  # type: ignore
    if not 0 <= begin <= end <= data_bytes:  # type: ignore
        raise ValueError(f"{name} lies at {begin} to {end} of {data_bytes} bytes")
    expected = math.prod(shape) * _ITEM_BYTES[dtype]  # type: ignore
    if end - begin != expected:  # type: ignore
        raise ValueError(f"{name} has {end - begin} bytes, its shape {shape} needs {expected}")  # type: ignore
    return dtype, tuple(shape), begin, end  # type: ignore


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[np.generic]], metadata: Mapping[str, str]
) -> None:
    """Write float32 and float64 arrays in the given order and sync them to disk; raises Failure (`io`)."""
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    chunks: list[bytes] = []
    position = 0
    for name, values in tensors.items():
        dtype, stored = ("F64", "<f8") if values.dtype == np.float64 else ("F32", "<f4")
        chunks.append(values.astype(stored).tobytes())
        end = position + len(chunks[-1])
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [position, end]}
        position = end
    encoded = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    encoded += b" " * (-len(encoded) % 8)
    try:
        with path.open("wb") as file:
            file.write(struct.pack("<Q", len(encoded)) + encoded)
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise io_failure(error, path) from error


def digest(arrays: Iterable[NDArray[np.floating]]) -> str:
    """SHA-256 of the arrays' float32 little-endian values, row-major, one array after the other."""
    made = hashlib.sha256()
    for values in arrays:
        made.update(np.ascontiguousarray(values, dtype="<f4").tobytes())
    return made.hexdigest()
