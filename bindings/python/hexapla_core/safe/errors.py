"""Errors: one exception class a status, and the one function that turns a status into one.

Separate because every call passes here. An exception's text is core's own, byte for byte; its class says
what a caller can do. What a pressure hook raised while the call ran becomes the exception's cause.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any, ClassVar

from hexapla_core.sys import ffi, lib


class HexaplaError(Exception):
    """A core call failed. `status` is the status's C name; `str(error)` is core's text unchanged."""

    status: ClassVar[str]


class InvalidArgument(HexaplaError, ValueError):
    """A shape, size, index or pointer is wrong."""

    status = "HXP_INVALID_ARGUMENT"


class OutOfMemory(HexaplaError, MemoryError):
    """The context's limit or the device is full; the context stays usable."""

    status = "HXP_OUT_OF_MEMORY"


class StaleHandle(HexaplaError):
    """The handle was closed already."""

    status = "HXP_STALE_HANDLE"


class WrongKind(HexaplaError, TypeError):
    """A handle of another kind."""

    status = "HXP_WRONG_KIND"


class WrongThread(HexaplaError):
    """A context made with `owner_thread_only` was called from another thread."""

    status = "HXP_WRONG_THREAD"


class Busy(HexaplaError):
    """A call from inside the context's own pressure hook."""

    status = "HXP_BUSY"


class DeviceError(HexaplaError):
    """No such device, or it refused."""

    status = "HXP_DEVICE"


class NoGradient(HexaplaError):
    """Backward is not defined here."""

    status = "HXP_NO_GRADIENT"


class FileError(HexaplaError, OSError):
    """The operating system refused a file; its text follows."""

    status = "HXP_IO"

    # OSError would take two arguments apart into errno and text; there is one here, core's line.


class FormatError(HexaplaError, ValueError):
    """A file's bytes break their format."""

    status = "HXP_FORMAT"


class NotFound(HexaplaError, LookupError):
    """No tensor, token or key of that name."""

    status = "HXP_NOT_FOUND"


class Unsupported(HexaplaError):
    """Well formed, but this core does not do it."""

    status = "HXP_UNSUPPORTED"


class InternalError(HexaplaError):
    """A bug in core."""

    status = "HXP_INTERNAL"


class UnknownStatus(BaseException):
    """Core answered a number that its header does not list: a bug that no handler of errors may pass over."""


_CLASSES: dict[int, type[HexaplaError]] = {
    getattr(lib, kind.status): kind
    for kind in (
        InvalidArgument,
        OutOfMemory,
        StaleHandle,
        WrongKind,
        WrongThread,
        Busy,
        DeviceError,
        NoGradient,
        FileError,
        FormatError,
        NotFound,
        Unsupported,
        InternalError,
    )
}

_ID = ffi.typeof("uint64_t *")


class _OfThread(threading.local):
    """The error struct of a thread's calls: made once, since making one takes longer than many a call. A call
    that fails inside another's pressure hook has been told before the outer one can write."""

    def __init__(self) -> None:
        self.error = ffi.new("hxp_error *", (ffi.sizeof("hxp_error"),))


_of_thread = _OfThread()

# By thread: what a pressure hook raised during the core call that the thread is in. The hook runs on the
# calling thread and the call looks here before it returns, so an entry never outlives the call.
hook_errors: dict[int, BaseException] = {}


def call(function: Any, *arguments: Any) -> None:
    """Make one core call that answers a status. Raises the status's exception."""
    error = _of_thread.error
    status = function(*arguments, error)
    if status or hook_errors:
        _settle(status, error)


def make(function: Any, *arguments: Any) -> int:
    """Make one core call that hands out an id, and return that id."""
    out = ffi.new(_ID)
    call(function, *arguments, out)
    return int(out[0])


def text(function: Any, *arguments: Any, size: int = 256) -> str:
    """Make one core call that writes text of fewer than `size` bytes, and return the text."""
    out = ffi.new("char[]", size)
    call(function, *arguments, out, size)
    return str(ffi.string(out).decode("utf-8"))


def _settle(status: int, error: Any) -> None:
    raised = hook_errors.pop(threading.get_ident(), None)
    if status:
        if status not in _CLASSES:
            raise UnknownStatus(f"core answered status {status}, which its header does not list")
        raise _CLASSES[status](ffi.string(error.message).decode("utf-8")) from raised
    if raised is not None:
        # The call went well without the hook's help: its result must not be lost over the hook's mistake.
        warnings.warn(f"a pressure hook raised {raised!r}; the call went well", RuntimeWarning, stacklevel=3)
