"""The smallest memory limit under which something still works, by bisection from a good guess.

Separate because it is a search and knows nothing of trainers: it asks a question of bytes and is tested on
questions whose answer is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Smallest:
    """`limit` works, and `limit - resolution` or more below it does not. `tries`: questions asked."""

    limit: int
    resolution: int
    tries: int


def smallest_limit(
    works: Callable[[int], bool], guess: int, resolution: int, ceiling: int
) -> Smallest | None:
    """Search from `guess` in doubling strides, then halve. All in bytes; resolution at least 1.

    None when it does not work at `ceiling` either. Whoever guesses right pays two questions.
    """
    tries = 0

    def asked(limit: int) -> bool:
        nonlocal tries
        tries += 1
        return works(limit)

    stride = resolution
    if asked(guess):
        good, bad = guess, max(guess - stride, 0)
        while bad > 0 and asked(bad):
            stride *= 2
            good, bad = bad, max(bad - stride, 0)
    else:
        bad, good = guess, guess + stride
        while not asked(min(good, ceiling)):
            if good >= ceiling:
                return None
            stride *= 2
            bad, good = good, good + stride
        good = min(good, ceiling)
    while good - bad > resolution:
        middle = (good + bad) // 2
        if asked(middle):
            good = middle
        else:
            bad = middle
    return Smallest(good, resolution, tries)
