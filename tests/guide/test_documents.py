"""What the guide and the page of probes list is what the harness has: levels, checks, stubs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from hexapla.cli import main
from hexapla.commands.new_binding import STUBS
from hexapla.levels import all_levels
from hexapla.protocol import LEVELS
from hexapla.protocol.checks import CHECKS
from hexapla.toolchains import Places

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "add-a-language.md").read_text("utf-8")
PROBES = (DOCS / "probes.md").read_text("utf-8")


def rows(text: str, heading: str) -> dict[str, list[str]]:
    """The first table behind a heading: first cell, without its backticks → the other cells."""
    lines = iter(text.split(heading, 1)[1].splitlines())
    table = []
    for line in lines:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            break
    return {cells[0].strip("`"): cells[1:] for cells in table[2:]}


def in_backticks(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_guides_table_of_levels() -> None:
    table = rows(GUIDE, "## 4. Levels")
    assert tuple(table) == LEVELS
    stands_on = {level: tuple(in_backticks(cells[1])) for level, cells in table.items()}
    assert stands_on == {level.name: level.stands_on for level in all_levels()}
    for level, cells in table.items():
        assert f"--level {level}`" in cells[2]


def test_the_commands_of_the_table_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is understood, up to the list of what it would run."""
    binding = str(Places.find().root / "tests" / "guide" / "javascript")
    for level, cells in rows(GUIDE, "## 4. Levels").items():
        words = shlex.split(in_backticks(cells[2])[0])
        assert main(["conform", "--spec", "micro", "--binding", binding, *words, "--list"]) == 0, level
        capsys.readouterr()


def test_the_guide_lists_the_stubs() -> None:
    *but_one, last = STUBS
    assert f"There are stubs in {', '.join(but_one)} and {last}." in GUIDE


def test_the_page_of_probes_lists_the_checks() -> None:
    table = rows(PROBES, "## Checks")
    assert tuple(table) == tuple(CHECKS)
    for level, (cells,) in table.items():
        # Words that are no check: the scenario that two of memory's play, and the ends of a range.
        named = set(in_backticks(cells)) - {"drop_in_loop"}
        asked = set(CHECKS[level])
        if level == "errors":
            asked = {name for name in asked if not name.startswith("status_")} | {
                "status_ok",
                "status_internal",
            }
        assert named == asked, level
