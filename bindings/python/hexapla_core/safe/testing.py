"""Raw ids, for tests and the `probe` scenarios only: mistakes that the wrappers do not let one make.

Separate so that no other code is tempted: an id that leaves its wrapper has no owner to close it.
"""

from __future__ import annotations

from hexapla_core.safe.errors import call, text
from hexapla_core.safe.handle import Handle, id_of
from hexapla_core.sys import lib


def raw_id(handle: Handle) -> int:
    """The id that a wrapper owns; the wrapper still owns it."""
    return id_of(handle)


def disown(handle: Handle) -> int:
    """Take the id away from its wrapper, which then releases nothing."""
    handle._finalizer.detach()
    return id_of(handle)


def release_tensor(identifier: int) -> None:
    """`hxp_tensor_release` of any number."""
    call(lib.hxp_tensor_release, identifier)


def context_device(identifier: int) -> str:
    """`hxp_context_device` of any number."""
    return text(lib.hxp_context_device, identifier)
