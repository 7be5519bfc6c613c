"""What the acceptance tests share: one crew of trainers for the session, and the embedded micro run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crew import Crew, Place, shared


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
