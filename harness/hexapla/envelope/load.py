"""Reads bounds from TOML and the measured floors from JSON, and refuses what has no provenance.

Separate because bounds are data: a number in code has no command, date or machine beside it. A set of bounds
ships as `envelope/bounds/<name>.toml`. The rounding floor and the seed envelope carry their kind in the file,
and asking for one and finding the other is an error, so that they cannot be mixed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hexapla.compare.bounds import Bound, Bounds, BoundsError, Provenance, RoundingFloor, SeedEnvelope

_BOUND_KEYS = {"name", "value", "unit", "bounds", "provenance"}
_PROVENANCE_KEYS = {"kind", "source", "command", "date", "machine", "runs", "figures"}
_KINDS = {RoundingFloor: "rounding_floor", SeedEnvelope: "seed_envelope"}


def load_bounds(name: str | Path) -> Bounds:
    """A shipped set by its name (`paired_tiny`), or any file by its path (it ends in .toml).

    Raises BoundsError: no such set, not TOML, an unknown or missing key, a bound without provenance.
    """
    where = str(name)
    try:
        if where.endswith(".toml"):
            text = Path(name).read_text("utf-8")
        else:
            where = f"{name}.toml"
            text = files("hexapla.envelope").joinpath("bounds", where).read_text("utf-8")
    except OSError as error:
        raise BoundsError(f"bounds {where}: {error.strerror}; there are {', '.join(shipped())}") from error
    try:
        return _bounds(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError, BoundsError) as error:
        raise BoundsError(f"bounds {where}: {error}") from error


def shipped() -> list[str]:
    """The names of the sets in the package."""
    folder = files("hexapla.envelope").joinpath("bounds")
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml"))


def save_floor(path: Path, floor: RoundingFloor | SeedEnvelope) -> None:
    """Write a measured floor or envelope; an existing file is an error (nothing is overwritten)."""
    value = {"kind": _KINDS[type(floor)]} | asdict(floor)
    content = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with path.open("x", encoding="utf-8") as file:
        try:
            file.write(content)
            file.flush()
        except OSError:
            path.unlink()  # ours, and torn
            raise


def load_rounding_floor(name: str | Path) -> RoundingFloor:
    """A shipped one by its name (`torch_tiny`), or any file by its path (it ends in .json).

    Raises BoundsError when the file is no rounding floor, a seed envelope above all.
    """
    return RoundingFloor(*_floor(name, _KINDS[RoundingFloor]))


def load_seed_envelope(name: str | Path) -> SeedEnvelope:
    """The same for a seed envelope. Raises BoundsError when the file is none, a rounding floor above all."""
    return SeedEnvelope(*_floor(name, _KINDS[SeedEnvelope]))


def _bounds(document: Mapping[str, Any]) -> Bounds:
    _refuse_keys(document, {"name", "summary", "bound"}, "the file")
    each = [_bound(value) for value in document["bound"]]
    names = [bound.name for bound in each]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise BoundsError(f"{', '.join(doubled)} given twice")
    return Bounds(document["name"], document["summary"], {bound.name: bound for bound in each})


def _bound(value: Mapping[str, Any]) -> Bound:
    called = f"bound {value.get('name', '?')}"
    _refuse_keys(value, _BOUND_KEYS, called)
    try:
        provenance = _provenance(value["provenance"])
    except BoundsError as error:
        raise BoundsError(f"{called}: {error}") from error
    return Bound(value["name"], float(value["value"]), value["unit"], value["bounds"], provenance)


def _provenance(value: Mapping[str, Any]) -> Provenance:
    unknown = sorted(set(value) - _PROVENANCE_KEYS)
    if unknown or "kind" not in value or "source" not in value:
        problem = f"unknown {', '.join(unknown)}" if unknown else "kind and source are needed"
        raise BoundsError(f"provenance: {problem}")
    return Provenance(**value)


def _refuse_keys(value: Mapping[str, Any], keys: set[str], called: str) -> None:
    missing, unknown = sorted(keys - set(value)), sorted(set(value) - keys)
    if missing:
        raise BoundsError(f"{called} has no {', '.join(missing)}")
    if unknown:
        raise BoundsError(f"{called} has an unknown key {', '.join(unknown)}")


def _floor(name: str | Path, kind: str) -> tuple[Mapping[str, float], int, Provenance]:
    path: Traversable = Path(name)
    if not str(name).endswith(".json"):
        path = files("hexapla.envelope").joinpath("floors", f"{name}.json")
    try:
        value = json.loads(path.read_text("utf-8"))
        found = value.get("kind")
        if found != kind:
            raise BoundsError(f"{path} holds a {found}, not a {kind}: the two are never mixed")
        return value["figures"], value["runs"], _provenance(value["provenance"])
    except OSError as error:
        raise BoundsError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BoundsError):
            raise
        raise BoundsError(f"{path}: not a {kind} file ({error})") from error
