"""The fault catalogue is strict and names what core compiles in; a faulty core is refused in a normal run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hexapla.faults import CatalogueError, core_faults, read_catalogue, read_entry
from hexapla.process.faults import unmeant_faults
from hexapla.protocol import Hello

SWITCHES = Path(__file__).resolve().parents[2] / "core/faults/faults.cpp"

ENTRY = """id = "stack-tested"
axis = "stack"
switch = "core-build"
summary = "One line."
caught = { operators = "words" }
silent = ["loading"]
needs = { implementations = ["c"] }
"""


def test_catalogue_is_readable_and_names_are_unique() -> None:
    entries = read_catalogue()
    assert len(entries) == len({entry.name for entry in entries}) >= 14
    assert all(not entry.summary.endswith("..") and "\n" not in entry.summary for entry in entries)


def test_catalogue_and_core_have_the_same_faults() -> None:
    """A switch without an entry would never be tried, an entry without a switch never be caught."""
    listed = re.search(r"names\{(.*?)\};", SWITCHES.read_text("utf-8"), re.DOTALL)
    assert listed is not None
    assert set(re.findall(r'"([a-z0-9_]+)"', listed[1])) == set(core_faults())


def test_entry(tmp_path: Path) -> None:
    path = tmp_path / "stack-tested.toml"
    path.write_text(ENTRY, "utf-8")
    entry = read_entry(path)
    assert (entry.name, dict(entry.caught), entry.silent) == ("tested", {"operators": "words"}, ("loading",))
    assert entry.can_reach("c") and not entry.can_reach("go")


def test_a_level_may_see_it_in_fewer_implementations(tmp_path: Path) -> None:
    path = tmp_path / "stack-tested.toml"
    at = 'needs = { implementations = ["c", "go"], migration = true, at = { operators = ["go"] } }'
    path.write_text(ENTRY.replace('needs = { implementations = ["c"] }', at), "utf-8")
    entry = read_entry(path)
    assert (
        entry.can_reach("c") and not entry.can_reach("c", "operators") and entry.can_reach("go", "operators")
    )
    assert entry.moves


@pytest.mark.parametrize(
    ("given", "instead", "said"),
    [
        ('axis = "stack"', 'axis = "stick"', "axis: is 'stick'"),
        ('switch = "core-build"', 'switch = "luck"', "switch: is 'luck'"),
        ('id = "stack-tested"', 'id = "stack-other"', "id: is 'stack-other'"),
        ("operators", "operator", "must be one of abi"),
        ('"loading"', '"operators"', "silent: operators is under caught too"),
        ('summary = "One line."\n', "", "summary: must be given"),
        ('summary = "One line."', "summary = 1", "summary: is 1"),
        ("needs = {", "needed = {", "needed: is no key"),
        ("implementations =", "languages =", "needs.languages: is no key"),
        ('["c"]', "[]", "needs.implementations: is []"),
        ('["c"]', '["c"], at = { loading = ["c"] }', "needs.at: loading is no level of caught"),
        ('["c"]', '["c"], at = { operators = [] }', "needs.at.operators: is []"),
        ('["c"]', '["c"], migration = "yes"', "needs.migration: is 'yes'"),
        ('{ operators = "words" }', "{}", "caught: is {}"),
        ('axis = "stack"', 'axis = "stack', "line 2"),
    ],
)
def test_bad_entry(tmp_path: Path, given: str, instead: str, said: str) -> None:
    """One line: the file, the key, the value."""
    assert given in ENTRY
    path = tmp_path / "stack-tested.toml"
    path.write_text(ENTRY.replace(given, instead), "utf-8")
    with pytest.raises(CatalogueError, match=re.escape(str(path))) as caught:
        read_entry(path)
    assert said in str(caught.value)


def hello(core: str | None, *faults: str) -> Hello:
    return Hello("hello", 1, "fake", "C", "none", "core", core, list(faults), [])


@pytest.mark.parametrize(
    ("said", "wanted", "problem"),
    [
        (hello("hexapla, faults none"), "", ""),
        (hello(None), "a", ""),
        (hello("hexapla, faults a,b; on: a", "a", "b"), "a", ""),
        (hello("hexapla, faults a,b; on: none", "a", "b"), "none", ""),
        (hello("hexapla, faults a,b; on: none", "a", "b"), "", "can be made wrong"),
        (hello("hexapla, faults a,b; on: none", "a", "b"), "a", "asked for"),
        (hello("hexapla, faults a,b; on: b", "a", "b"), "a", "asked for"),
        (hello("hexapla, faults none"), "a", "asked for"),
    ],
)
def test_core_has_just_the_faults_asked_for(said: Hello, wanted: str, problem: str) -> None:
    words = unmeant_faults(said, wanted)
    assert problem in words and bool(problem) == bool(words)
