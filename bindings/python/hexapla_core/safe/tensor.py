"""Tensors: device memory with a shape, f32, shared by views and copies.

Separate from the operations: here values come in and go out. Values travel through the buffer protocol, so
`array`, `memoryview` and NumPy arrays of f32 all work and none is required.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hexapla_core.safe.context import Context
from hexapla_core.safe.errors import call, make, text
from hexapla_core.safe.handle import Handle
from hexapla_core.sys import ffi, lib

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

F32: int = lib.HXP_DTYPE_F32
F16: int = lib.HXP_DTYPE_F16
BF16: int = lib.HXP_DTYPE_BF16
DIGEST_BYTES = 65


@dataclass(frozen=True)
class TensorInfo:
    """What core knows of a tensor: shape, strides and offset in elements, sizes."""

    dtype: int
    contiguous: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    elements: int
    bytes: int


class Tensor(Handle):
    """A share of a device tensor."""

    __slots__ = ()

    _retain = lib.hxp_tensor_retain
    _release = lib.hxp_tensor_release

    def __init__(self, context: Context, shape: Sequence[int], *, dtype: int = F32) -> None:
        """Make a tensor of zeros. Raises InvalidArgument (a shape), Unsupported (a dtype), OutOfMemory."""
        sizes = ffi.new("int64_t[]", shape)
        self._own(make(lib.hxp_tensor_create, context._id, dtype, len(shape), sizes))

    @classmethod
    def of(cls, context: Context, values: Iterable[float], shape: Sequence[int] | None = None) -> Tensor:
        """Make a tensor of numbers, rounded to f32, row-major; without a shape it has one axis."""
        numbers = array("f", values)
        tensor = cls(context, [len(numbers)] if shape is None else shape)
        try:
            tensor.write(numbers)
        except BaseException:
            tensor.close()
            raise
        return tensor

    def info(self) -> TensorInfo:
        """Shape, strides and sizes."""
        out = ffi.new("hxp_tensor_info *")
        lib.hxp_tensor_info_init(out)
        call(lib.hxp_tensor_describe, self._id, out)
        axes = range(out.rank)
        return TensorInfo(
            dtype=out.dtype,
            contiguous=bool(out.contiguous),
            shape=tuple(out.shape[axis] for axis in axes),
            strides=tuple(out.strides[axis] for axis in axes),
            offset=out.offset,
            elements=out.elements,
            bytes=out.bytes,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.info().shape

    @property
    def device(self) -> str:
        """The device that the tensor's buffer really lies on."""
        return text(lib.hxp_tensor_device, self._id)

    def context(self) -> Context:
        """A new owner of the context that the tensor lives in."""
        return Context._adopt(make(lib.hxp_tensor_context, self._id))

    def write(self, values: Buffer) -> None:
        """Copy f32 values, row-major, into the tensor. values: contiguous, exactly the tensor's bytes."""
        data = ffi.from_buffer(values)
        call(lib.hxp_tensor_write, self._id, data, len(data))

    def read(self) -> memoryview[float]:
        """Copy the values to the host: a memoryview of f32 in the tensor's shape (flat if that holds a 0)."""
        info = self.info()
        host = memoryview(bytearray(info.bytes))
        if info.bytes == 0:
            return host.cast("f")
        call(lib.hxp_tensor_read, self._id, ffi.from_buffer(host), info.bytes)
        return host.cast("f", info.shape)

    def fill(self, value: float) -> None:
        """Set every element, in place."""
        call(lib.hxp_tensor_fill, self._id, value)

    def add_in_place(self, value: float) -> None:
        """Add a number to every element, in place; every owner and view sees it."""
        call(lib.hxp_tensor_add_in_place, self._id, value)

    def digest(self) -> str:
        """SHA-256, in hex, over the f32 little-endian values, row-major."""
        return digest([self])


def digest(tensors: Sequence[Tensor]) -> str:
    """SHA-256, in hex, over the values of the tensors, one after the other; all of one context."""
    return text(lib.hxp_tensor_digest, ids(tensors), len(tensors), size=DIGEST_BYTES)


def ids(handles: Sequence[Handle]) -> Any:
    """The ids of a list of handles as a C array."""
    return ffi.new("uint64_t[]", [handle._id for handle in handles])
