"""Fixtures of the core's tests: the loaded library, a context whose leftovers are found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from core_calls import Core


@pytest.fixture(scope="session")
def core() -> Core:
    return Core()


@pytest.fixture
def context(core: Core) -> Iterator[int]:
    """A context on cpu:0, one worker. The test releases everything else: what it leaves behind fails it."""
    before = core.memory()
    handles, live = before.live_handles, before.live_bytes
    context = core.context()
    yield context
    core.release("context", context)
    after = core.memory()
    assert (after.live_handles, after.live_bytes) == (handles, live), "the test left handles or bytes behind"
