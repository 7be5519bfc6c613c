"""The fault catalogue: what can be made wrong on purpose, and what each check must then say.

A fault is data: one file in `catalogue/`, whose name is its id. Separate from the levels, which must not
know which faults exist. Nothing here applies a fault, and nothing here runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexapla.protocol import LEVELS

AXES = ("stack", "orchestration", "runtime", "harness")
MODELS = ("embedded", "mixed")
SWITCHES = ("core-build", "spec-change", "trainer-patch", "miniature")
CATALOGUE = Path(__file__).parent / "catalogue"
NO_FAULT = "none"
"""In place of a fault's name: the build that has all switches, with none of them on, as a control."""

_KEYS = {"id": str, "axis": str, "switch": str, "summary": str, "caught": dict, "silent": list, "needs": dict}
_REQUIRED = frozenset({"id", "axis", "switch", "summary", "caught", "silent"})


class CatalogueError(ValueError):
    """A catalogue file that cannot be used: file, key, value, what it must be; one line."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One fault.

    `caught`: level → words that its finding holds; `silent`: levels that must still pass.
    `reaches`: the implementations in which it can be seen, None for all; `reaches_at`: those in which a level
    can see it, where they are fewer. In the others the levels of `caught` must pass as well.
    `moves`: it acts on a task that its runtime has moved to another OS thread, in a pinned run too.
    `model`: "embedded", or "mixed" for one stored in all three float types with subnormals among its values.
    """

    id: str
    axis: str
    switch: str
    summary: str
    caught: Mapping[str, str]
    silent: Sequence[str]
    reaches: frozenset[str] | None = None
    reaches_at: Mapping[str, frozenset[str]] = field(default_factory=dict)
    moves: bool = False
    model: str = "embedded"

    @property
    def name(self) -> str:
        """What core calls it: the id without its axis, as an identifier."""
        return self.id.removeprefix(f"{self.axis}-").replace("-", "_")

    def can_reach(self, implementation: str, level: str = "") -> bool:
        """Whether it can be seen in an implementation, by that level if one is named."""
        at = self.reaches_at.get(level, self.reaches)
        return at is None or implementation in at


def read_entry(path: Path) -> CatalogueEntry:
    """Read one file. Raises CatalogueError."""
    try:
        values = tomllib.loads(path.read_text("utf-8"))
        return _check(path.stem, values)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, CatalogueError) as error:
        raise CatalogueError(f"{path}: {error}") from None


def read_catalogue(folder: Path = CATALOGUE) -> list[CatalogueEntry]:
    """All faults, by id. Raises CatalogueError."""
    return [read_entry(path) for path in sorted(folder.glob("*.toml"))]


def core_faults() -> dict[str, CatalogueEntry]:
    """The faults of the build that can be made wrong, by core's name for each."""
    return {entry.name: entry for entry in read_catalogue() if entry.switch == "core-build"}


def _check(stem: str, values: dict[str, Any]) -> CatalogueEntry:
    if unknown := sorted(values.keys() - _KEYS.keys()):
        raise CatalogueError(f"{unknown[0]}: is no key of a fault; known are {', '.join(_KEYS)}")
    if missing := sorted(_REQUIRED - values.keys()):
        raise CatalogueError(f"{missing[0]}: must be given")
    for key, value in values.items():
        if not isinstance(value, _KEYS[key]):
            raise CatalogueError(f"{key}: is {value!r}, must be a {_KEYS[key].__name__}")
    _one_of("axis", values["axis"], AXES)
    _one_of("switch", values["switch"], SWITCHES)
    if values["id"] != stem or not stem.startswith(f"{values['axis']}-"):
        raise CatalogueError(f"id: is {values['id']!r}, must be the file's name and begin with the axis")
    caught, silent = values["caught"], values["silent"]
    for level in (*caught, *silent):
        _one_of("caught and silent", level, LEVELS)
    if both := sorted(caught.keys() & set(silent)):
        raise CatalogueError(f"silent: {both[0]} is under caught too")
    if not caught or not all(isinstance(words, str) for words in caught.values()):
        raise CatalogueError(f"caught: is {caught!r}, must say for at least one level what it finds")
    return CatalogueEntry(
        id=values["id"],
        axis=values["axis"],
        switch=values["switch"],
        summary=values["summary"],
        caught=caught,
        silent=tuple(silent),
        **_needs(values.get("needs", {}), caught),
    )


def _one_of(key: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise CatalogueError(f"{key}: is {value!r}, must be one of {', '.join(allowed)}")


def _needs(needs: dict[str, Any], caught: Mapping[str, str]) -> dict[str, Any]:
    """The fields of an entry that say where it can be seen."""
    if unknown := sorted(needs.keys() - {"implementations", "at", "migration", "model"}):
        raise CatalogueError(
            f"needs.{unknown[0]}: is no key; known are implementations, at, migration, model"
        )
    _one_of("needs.model", needs.get("model", "embedded"), MODELS)
    moves, at = needs.get("migration", False), needs.get("at", {})
    if not isinstance(moves, bool):
        raise CatalogueError(f"needs.migration: is {moves!r}, must be true or false")
    if not isinstance(at, dict):
        raise CatalogueError(f"needs.at: is {at!r}, must be a table")
    if strange := sorted(at.keys() - caught.keys()):
        raise CatalogueError(f"needs.at: {strange[0]} is no level of caught")
    return {
        "reaches": _names("implementations", needs["implementations"])
        if "implementations" in needs
        else None,
        "reaches_at": {level: _names(f"at.{level}", names) for level, names in at.items()},
        "moves": moves,
        "model": needs.get("model", "embedded"),
    }


def _names(key: str, names: object) -> frozenset[str]:
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise CatalogueError(f"needs.{key}: is {names!r}, must be a list of names")
    return frozenset(names)
