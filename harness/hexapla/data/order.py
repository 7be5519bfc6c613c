"""SplitMix64 and the order of an epoch, as SPEC.md fixes them, for what the harness itself draws.

Trainers have their own; this one makes initial adapters and the held-out split, and is held to SPEC.md's
check values.
"""

import numpy as np
from numpy.typing import NDArray

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def splitmix64(state: int, skip: int, count: int) -> NDArray[np.uint64]:
    """Outputs `skip` … `skip + count − 1` of SplitMix64 started at `state`."""
    with np.errstate(over="ignore"):
        z = np.uint64(state % 2**64) + _GAMMA * np.arange(skip + 1, skip + count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def epoch_order(seed: int, epoch: int, count: int) -> list[int]:
    """The record numbers 0 … `count` − 1 in the order of one epoch."""
    order = list(range(count))
    numbers = splitmix64((seed << 32) + epoch, 0, count).tolist()
    for i, number in zip(range(count - 1, 0, -1), numbers, strict=False):
        j = number % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order
