"""Fixtures: the package on the path, the library that HEXAPLA_LIBRARY names, leftovers found after each test.

Run as `HEXAPLA_LIBRARY=…/libhexapla.so pytest bindings/python/tests`; `nox -s tests` builds the core first.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

BINDING = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BINDING), str(BINDING / "tests")]

if "HEXAPLA_LIBRARY" not in os.environ:
    pytest.exit("set HEXAPLA_LIBRARY to the path of libhexapla.so", returncode=2)

if TYPE_CHECKING:
    from hexapla_core import Context


@pytest.fixture
def context() -> Iterator[Context]:
    """A context on cpu:0."""
    from hexapla_core import Context  # noqa: PLC0415

    with Context() as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Every test ends with the handles and bytes that it began with."""
    from hexapla_core import process_memory  # noqa: PLC0415

    gc.collect()
    before = process_memory()
    yield
    gc.collect()
    after = process_memory()
    assert (after.live_handles, after.live_bytes) == (before.live_handles, before.live_bytes)
