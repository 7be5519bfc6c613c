"""Every fault of the core that can be made wrong is caught at the level the catalogue names, and only there.

Two conformance runs per fault, on `micro`: the implementations that the fault can reach must fail the levels
under `caught`, in words of the catalogue; those it cannot reach, and the levels under `silent`, must pass.
The same build with no fault on is the control. HEXAPLA_FAULT_BINDINGS names the implementations (default: all
that core drives), HEXAPLA_FAULTS the faults (default: all), HEXAPLA_FAULT_RESULTS a file for the matrix.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_matrix import IMPLEMENTATIONS, RIGHT, Cell, control, try_fault, write_matrix
from hexapla.faults import core_faults

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

BINDINGS = os.environ.get("HEXAPLA_FAULT_BINDINGS", ",".join(IMPLEMENTATIONS)).split(",")
CHOSEN = os.environ.get("HEXAPLA_FAULTS", ",".join(core_faults())).split(",")
RESULTS = os.environ.get("HEXAPLA_FAULT_RESULTS", "")


@pytest.fixture(scope="module")
def matrix() -> Iterator[list[Cell]]:
    """All cells of this session; written down at its end, whatever they are."""
    cells: list[Cell] = []
    started = time.monotonic()
    yield cells
    if RESULTS:
        write_matrix(Path(RESULTS), cells, BINDINGS, time.monotonic() - started)


def hold(cells: list[Cell], matrix: list[Cell]) -> None:
    matrix += cells
    wrong = [str(cell) for cell in cells if cell.verdict not in RIGHT]
    assert not wrong, "\n".join(wrong)


def test_without_a_fault_everything_holds(matrix: list[Cell], tmp_path: Path) -> None:
    """The control: nothing that a fault's run finds comes from the build itself."""
    hold(list(control(BINDINGS, tmp_path)), matrix)


@pytest.mark.parametrize("name", CHOSEN)
def test_fault_is_caught_where_the_catalogue_says(name: str, matrix: list[Cell], tmp_path: Path) -> None:
    hold(list(try_fault(core_faults()[name], BINDINGS, tmp_path)), matrix)
