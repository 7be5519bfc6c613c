"""Raw calls of the loaded core with statuses as exceptions: what the tests of core speak.

A module of its own, since several folders of tests have a conftest and only one can bear that name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from core_library import load


class CoreError(Exception):
    """A call that did not answer HXP_OK."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text


class Core:
    """The raw calls; statuses become CoreError, handles are plain numbers."""

    def __init__(self) -> None:
        self.ffi, self.lib = load()

    def call(self, name: str, *arguments: Any) -> None:
        """hxp_<name>(*arguments, error); CoreError unless HXP_OK."""
        error = self.ffi.new("hxp_error *")
        self.lib.hxp_error_init(error)
        status = getattr(self.lib, f"hxp_{name}")(*arguments, error)
        if status != self.lib.HXP_OK:
            assert error.status == status
            text = self.ffi.string(error.message).decode("utf-8")
            raise CoreError(self.ffi.string(self.lib.hxp_status_name(status)).decode(), text)
        assert self.ffi.string(error.message) == b""

    def make(self, name: str, *arguments: Any) -> int:
        """A call whose last argument before the error is an `out` handle."""
        out = self.ffi.new("uint64_t *")
        self.call(name, *arguments, out)
        return int(out[0])

    def context(self, device: str = "cpu:0", **options: Any) -> int:
        struct = self.ffi.new("hxp_context_options *")
        self.lib.hxp_context_options_init(struct)
        path = self.ffi.new("char[]", str(options.pop("ledger_path", "")).encode())
        if len(path) > 1:
            struct.ledger_path = path
        for key, value in options.items():
            setattr(struct, key, value)
        return self.make("context_create", device.encode(), struct)

    def empty(self, context: int, *shape: int) -> int:
        return self.make("tensor_create", context, self.lib.HXP_DTYPE_F32, len(shape), list(shape))

    def tensor(self, context: int, values: Any) -> int:
        array = np.ascontiguousarray(values, dtype=np.float32)
        tensor = self.empty(context, *array.shape)
        self.write(tensor, array)
        return tensor

    def write(self, tensor: int, values: Any) -> None:
        array = np.ascontiguousarray(values, dtype=np.float32)
        self.call("tensor_write", tensor, self.ffi.from_buffer(array), array.nbytes)

    def info(self, tensor: int) -> Any:
        info = self.ffi.new("hxp_tensor_info *")
        self.lib.hxp_tensor_info_init(info)
        self.call("tensor_describe", tensor, info)
        return info

    def shape(self, tensor: int) -> tuple[int, ...]:
        info = self.info(tensor)
        return tuple(info.shape[axis] for axis in range(info.rank))

    def read(self, tensor: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        array = np.empty(self.shape(tensor), dtype=np.float32)
        self.call("tensor_read", tensor, self.ffi.from_buffer(array), array.nbytes)
        return array

    def digest(self, *tensors: int) -> str:
        out = self.ffi.new("char[65]")
        self.call("tensor_digest", list(tensors), len(tensors), out, 65)
        return self.ffi.string(out).decode()

    def release(self, kind: str, *handles: int) -> None:
        for handle in handles:
            self.call(f"{kind}_release", handle)

    def memory(self, context: int = 0) -> Any:
        """The account of a context, or (0) of the process."""
        memory = self.ffi.new("hxp_memory *")
        self.lib.hxp_memory_init(memory)
        if context:
            self.call("context_memory", context, memory)
        else:
            self.call("process_memory", memory)
        return memory
