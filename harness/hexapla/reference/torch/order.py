"""Which records an update takes, in which order, and the digest that proves it.

Separate because the order must be the same in every implementation whatever library draws random
numbers: nothing here may use one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .render import Example

_MASK = 2**64 - 1
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3


def splitmix64(state: int) -> Iterator[int]:
    """The endless SplitMix64 stream that starts at `state`."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        yield z ^ (z >> 31)


def epoch_order(seed: int, epoch: int, count: int) -> list[int]:
    """The order of `count` records in `epoch` (from 0)."""
    order = list(range(count))
    stream = splitmix64(((seed << 32) + epoch) & _MASK)
    for i in range(count - 1, 0, -1):
        j = next(stream) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


@dataclass(frozen=True)
class Batch:
    """The records of one update, as indices into the accepted records, and its epoch."""

    epoch: int
    records: list[int]


def batches(seed: int, count: int, batch: int, after: int) -> Iterator[Batch]:
    """The batches of updates `after` + 1, `after` + 2, …; an update never spans two epochs."""
    updates_per_epoch = -(-count // batch)
    epoch, skipped = divmod(after, updates_per_epoch)
    while True:
        order = epoch_order(seed, epoch, count)
        for start in range(skipped * batch, count, batch):
            yield Batch(epoch, order[start : start + batch])
        epoch, skipped = epoch + 1, 0


def batch_digest(examples: list[Example]) -> str:
    """FNV-1a 64 over each record's id count, ids (little-endian u32) and one byte a flag."""
    digest = _FNV_OFFSET
    for example in examples:
        words = [len(example.ids), *example.ids]
        data = b"".join(word.to_bytes(4, "little") for word in words) + bytes(example.labels)
        for byte in data:
            digest = ((digest ^ byte) * _FNV_PRIME) & _MASK
    return f"{digest:016x}"
