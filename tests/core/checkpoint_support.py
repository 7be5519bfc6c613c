"""A core checkpoint as the tests use it. Separate from formats_support.py, which needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from core_calls import Core

Array = np.ndarray[Any, np.dtype[np.float32]]


class Checkpoint:
    """An open checkpoint; closed at the end of a `with`."""

    def __init__(self, core: Core, path: Path) -> None:
        self.core = core
        self.handle = core.make("checkpoint_open", str(path).encode())

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.core.release("checkpoint", self.handle)

    def entries(self) -> list[tuple[str, str, tuple[int, ...], int]]:
        """Name, dtype, shape and stored bytes of each tensor."""
        ffi = self.core.ffi
        count = ffi.new("uint64_t *")
        self.core.call("checkpoint_count", self.handle, count)
        result = []
        for index in range(count[0]):
            entry = ffi.new("hxp_checkpoint_entry *")
            self.core.lib.hxp_checkpoint_entry_init(entry)
            self.core.call("checkpoint_describe", self.handle, index, entry)
            shape = tuple(entry.shape[0 : entry.rank])
            assert entry.elements == np.prod(shape, dtype=np.uint64)
            name, dtype = (ffi.string(text).decode() for text in (entry.name, entry.dtype))
            result.append((name, dtype, shape, entry.bytes))
        return result

    def find(self, name: str) -> int:
        out = self.core.ffi.new("uint64_t *")
        self.core.call("checkpoint_find", self.handle, name.encode(), out)
        return int(out[0])

    def read(self, context: int, name: str) -> Array:
        tensor = self.core.make("checkpoint_read", self.handle, self.find(name), context)
        try:
            return self.core.read(tensor)
        finally:
            self.core.release("tensor", tensor)

    def metadata(self, key: str, room: int = 256) -> str:
        out = self.core.ffi.new("char[]", room)
        self.core.call("checkpoint_metadata", self.handle, key.encode(), out, room)
        return self.core.ffi.string(out).decode()


def write(
    core: Core, context: int, path: Path, tensors: dict[str, Array], metadata: dict[str, str] | None = None
) -> None:
    """Write arrays by way of the device."""
    handles = [core.tensor(context, array) for array in tensors.values()]
    try:
        write_handles(core, path, list(tensors), handles, metadata)
    finally:
        core.release("tensor", *handles)


def write_handles(
    core: Core, path: Path, names: list[str], handles: list[int], metadata: dict[str, str] | None = None
) -> None:
    def strings(values: list[str]) -> tuple[Any, list[Any]]:
        kept = [core.ffi.new("char[]", value.encode()) for value in values]
        return core.ffi.new("char *[]", kept), kept

    pairs = metadata or {}
    arrays = [strings(values) for values in (names, list(pairs), list(pairs.values()))]
    (name_array, _), (keys, _), (values, _) = arrays
    place = str(path).encode()
    core.call("checkpoint_write", place, name_array, handles, len(handles), keys, values, len(pairs))
