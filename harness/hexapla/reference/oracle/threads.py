"""Keeps a run within the threads that its context allows, with results that do not depend on their number.

Micro-batches are computed side by side, each on one thread with a BLAS of one thread: an OpenBLAS with
threads of its own waits by spinning, and on a busy machine a run took ten times as long. Adding up stays with
the caller, in order.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")

_SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads")


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """The function's results in the order of the items; the first exception is raised in its place."""
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)


def one_blas_thread() -> None:
    """Set the OpenBLAS in NumPy's wheel to one thread; says so on stderr where there is none."""
    for library in sorted(Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*")):
        loaded = ctypes.CDLL(str(library))
        for name in _SETTERS:
            if hasattr(loaded, name):
                getattr(loaded, name)(ctypes.c_int(1))
                return
    print("oracle: NumPy's BLAS is no bundled OpenBLAS; its threads stay uncapped", file=sys.stderr)
