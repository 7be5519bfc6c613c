"""Which records an update takes, and the digest that proves it.

Apart from training because order is exact: integers only, no float and no library generator.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from .render import Rendered

_MASK = 2**64 - 1


def splitmix64(state: int) -> Iterator[int]:
    """The SplitMix64 sequence that starts behind `state`."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        yield z ^ (z >> 31)


def epoch_order(seed: int, epoch: int, count: int) -> list[int]:
    """The order in which an epoch takes records 0 … count−1."""
    order = list(range(count))
    numbers = splitmix64((seed * 2**32 + epoch) & _MASK)
    for i in range(count - 1, 0, -1):
        j = next(numbers) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def updates_of(seed: int, count: int, batch: int, first: int) -> Iterator[tuple[int, int, list[int]]]:
    """(update, epoch, record indices) from update `first` (counted from 1) on; no update spans two epochs."""
    epoch_updates = -(-count // batch)
    epoch, skip = divmod(first - 1, epoch_updates)
    update = first
    while True:
        order = epoch_order(seed, epoch, count)
        for start in range(skip * batch, count, batch):
            yield update, epoch, order[start : start + batch]
            update += 1
        epoch, skip = epoch + 1, 0


def runs(records: Sequence[Rendered], size: int) -> Iterator[Sequence[Rendered]]:
    """Successive runs of at most `size` records."""
    return (records[start : start + size] for start in range(0, len(records), size))


def batch_digest(records: Sequence[Rendered]) -> str:
    """FNV-1a 64 over each record's id count and ids (little-endian u32) and flags (one byte each), as 16 hex
    digits."""
    digest = 0xCBF29CE484222325
    for record in records:
        count = len(record.ids)
        for byte in struct.pack(f"<I{count}I", count, *record.ids) + record.flags:
            digest = ((digest ^ byte) * 0x100000001B3) & _MASK
    return f"{digest:016x}"
