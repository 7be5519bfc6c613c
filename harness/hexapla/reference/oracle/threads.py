"""Caps the threads of NumPy's BLAS at what a request's context allows.

Apart because it reaches below NumPy, which has no call for it: the number is known only once a request has
come, when the library has long read its environment.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np

_SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads")


def set_blas_threads(count: int) -> None:
    """Set the thread count of the OpenBLAS in NumPy's wheel; says so on stderr where there is none."""
    for library in sorted(Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*")):
        loaded = ctypes.CDLL(str(library))
        for name in _SETTERS:
            if hasattr(loaded, name):
                getattr(loaded, name)(ctypes.c_int(count))
                return
    print(
        f"oracle: NumPy's BLAS is not a bundled OpenBLAS; its threads stay uncapped ({count} asked)",
        file=sys.stderr,
    )
