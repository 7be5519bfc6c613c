"""The order of records: SplitMix64 and the shuffle of docs/spec.md."""

from __future__ import annotations

from functools import lru_cache

_MASK = (1 << 64) - 1


class SplitMix64:
    """The generator; `next` gives 64 bits."""

    def __init__(self, state: int) -> None:
        self._state = state & _MASK

    def next(self) -> int:
        """The next number."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
        return z ^ z >> 31


@lru_cache(maxsize=2)
def permutation(count: int, seed: int, epoch: int) -> tuple[int, ...]:
    """The order of `count` records in an epoch."""
    generator = SplitMix64((seed << 32) + epoch)
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = generator.next() % (i + 1)
        order[i], order[j] = order[j], order[i]
    return tuple(order)


def records_of_update(count: int, batch: int, seed: int, update: int) -> tuple[int, tuple[int, ...]]:
    """The epoch of an update (from 1), and its records; an epoch's last update may be short."""
    updates_per_epoch = -(-count // batch)
    epoch, place = divmod(update - 1, updates_per_epoch)
    return epoch, permutation(count, seed, epoch)[place * batch : (place + 1) * batch]
