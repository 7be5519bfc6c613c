"""What the acceptance tests share: one crew of trainers for the session, and the embedded micro run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crew import Crew, Place, shared

# Whichever test asks first waits for the build of core, which the harness bounds by as much.
BUILD_SECONDS = 1800


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the acceptance tests the time of a cold build on a busy machine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(BUILD_SECONDS))


@pytest.fixture(scope="session")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """All implementations, started when first asked; at the end each must leave in order."""
    made = Crew(tmp_path_factory.mktemp("crew"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def micro(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The embedded default at the specification `micro`."""
    return Place.embedded(tmp_path_factory.mktemp("micro"))


@pytest.fixture(scope="session")
def qwen3() -> Path:
    """The real tokenizer of the cases' ids."""
    return shared("tokenizer", "qwen3-0.6b")
