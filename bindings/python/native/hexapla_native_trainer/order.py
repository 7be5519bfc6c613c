"""The order of records (SPEC "Order"). Separate because it follows from seed, count and batch alone."""

from __future__ import annotations

from collections.abc import Iterator

MASK = 2**64 - 1


def splitmix64(state: int) -> Iterator[int]:
    """The generator's numbers from a state on."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def shuffled(count: int, seed: int, epoch: int) -> list[int]:
    """0 … count − 1 in the order of an epoch."""
    places = list(range(count))
    numbers = splitmix64((seed * 2**32 + epoch) & MASK)
    for i in range(count - 1, 0, -1):
        j = next(numbers) % (i + 1)
        places[i], places[j] = places[j], places[i]
    return places


class Order:
    """Which records an update takes."""

    def __init__(self, count: int, seed: int, batch: int) -> None:
        self._count, self._seed, self._batch = count, seed, batch
        self._updates_an_epoch = -(-count // batch)
        self._epoch = -1
        self._places: list[int] = []

    def of_update(self, update: int) -> tuple[int, list[int]]:
        """(epoch, record numbers) of an update, counted from 1."""
        epoch, within = divmod(update - 1, self._updates_an_epoch)
        if epoch != self._epoch:
            self._epoch, self._places = epoch, shuffled(self._count, self._seed, epoch)
        return epoch, self._places[within * self._batch : (within + 1) * self._batch]
