"""Checkpoints on disk: safetensors files, single or sharded, read and written.

Separate by the header it mirrors, `hexapla/checkpoint.h`; core reads the bytes and refuses hostile ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hexapla_core.safe.context import Context
from hexapla_core.safe.errors import InvalidArgument, call, make, text
from hexapla_core.safe.handle import Handle
from hexapla_core.safe.tensor import Tensor, ids
from hexapla_core.sys import ffi, lib

Path = str | os.PathLike[str]
_METADATA_BYTES = (256, 1 << 16, 1 << 24)


@dataclass(frozen=True)
class CheckpointEntry:
    """One stored tensor. dtype as stored ("F32", "F16", "BF16", …); bytes as stored."""

    index: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    bytes: int


class Checkpoint(Handle):
    """A reader of a .safetensors file or a folder with model.safetensors (or its index)."""

    __slots__ = ()

    _retain = lib.hxp_checkpoint_retain
    _release = lib.hxp_checkpoint_release

    def __init__(self, path: Path) -> None:
        """Open for reading. Raises FileError, FormatError."""
        self._own(make(lib.hxp_checkpoint_open, os.fsencode(path)))

    def __len__(self) -> int:
        return make(lib.hxp_checkpoint_count, self._id)

    def entries(self) -> list[CheckpointEntry]:
        """All entries, sorted by the bytes of their names."""
        return [self.entry(index) for index in range(len(self))]

    def entry(self, index: int) -> CheckpointEntry:
        """The entry at an index. Raises InvalidArgument."""
        out = ffi.new("hxp_checkpoint_entry *")
        lib.hxp_checkpoint_entry_init(out)
        call(lib.hxp_checkpoint_describe, self._id, index, out)
        return CheckpointEntry(
            index=index,
            name=ffi.string(out.name).decode("utf-8"),
            dtype=ffi.string(out.dtype).decode("utf-8"),
            shape=tuple(out.shape[axis] for axis in range(out.rank)),
            elements=out.elements,
            bytes=out.bytes,
        )

    def find(self, name: str) -> int:
        """The index of a name. Raises NotFound."""
        return make(lib.hxp_checkpoint_find, self._id, name.encode("utf-8"))

    def read(self, index: int, context: Context) -> Tensor:
        """Read one tensor to a device, widened to f32. Raises Unsupported (dtype), FileError, OutOfMemory."""
        return Tensor._adopt(make(lib.hxp_checkpoint_read, self._id, index, context._id))

    def metadata(self, key: str) -> str:
        """A value of the file's metadata. Raises NotFound."""
        for size in _METADATA_BYTES[:-1]:
            try:
                return text(lib.hxp_checkpoint_metadata, self._id, key.encode("utf-8"), size=size)
            except InvalidArgument:
                continue  # the buffer was too small
        return text(lib.hxp_checkpoint_metadata, self._id, key.encode("utf-8"), size=_METADATA_BYTES[-1])


def write_checkpoint(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to one safetensors file, in the mapping's order, all or nothing. Raises FileError."""
    described = dict(metadata or {})
    names, keys, values = _texts(list(tensors)), _texts(list(described)), _texts(list(described.values()))
    call(
        lib.hxp_checkpoint_write,
        os.fsencode(path),
        ffi.new("char *[]", names),
        ids(list(tensors.values())),
        len(tensors),
        ffi.new("char *[]", keys),
        ffi.new("char *[]", values),
        len(keys),
    )


def _texts(words: Sequence[str]) -> list[object]:
    return [ffi.new("char[]", word.encode("utf-8")) for word in words]


def commit_checkpoint(partial: Path, final: Path) -> None:
    """Make a folder of finished files final: sync, rename, sync. `final` must not exist. Raises FileError."""
    call(lib.hxp_checkpoint_commit, os.fsencode(partial), os.fsencode(final))
