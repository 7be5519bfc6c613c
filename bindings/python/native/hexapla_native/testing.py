"""Raw ids and injected failures, for probes and tests alone: what the classes are there to rule out."""

from __future__ import annotations

from typing import Any

import _hexapla_native

STATUSES = tuple(_hexapla_native.status_name(number) for number in range(14))


def raw_id(owner: Any) -> int:
    """The registry's id of an owner."""
    return int(owner._id)


def release_again(owner: Any) -> None:
    """Give a share back whether or not it was given back before: the second time is a stale handle."""
    owner._release()


def device_of_id(number: int) -> str:
    """Ask core for the device of whatever this id names; no context's id is an error."""
    return _hexapla_native._context_device(number)


def fail_allocation(context: _hexapla_native.Context, nth: int, persistent: bool = False) -> None:
    """Make the nth allocation from now fail (0: none), and every later one if persistent."""
    context._fail_allocation(nth, persistent)


def fail_next(context: _hexapla_native.Context, status: str) -> None:
    """Let the next call on the context answer this status and do nothing else."""
    context._fail_next(STATUSES.index(status))
