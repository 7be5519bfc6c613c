"""Where things lie: the source tree, its build folder, the cache.

Separate so that no other file works out a path from its own. Nothing is created here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """Absolute folders. `root` holds core/ and bindings/; `build` is git-ignored; `cache` outlives it."""

    root: Path
    build: Path
    cache: Path

    @classmethod
    def find(cls) -> Places:
        """The tree that this package was imported from; HEXAPLA_ROOT and HEXAPLA_CACHE move it."""
        named = os.environ.get("HEXAPLA_ROOT")
        root = Path(named).resolve() if named else Path(__file__).resolve().parents[3]
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        cache = Path(os.environ.get("HEXAPLA_CACHE") or Path(home) / "hexapla")
        return cls(root, root / "build", cache.resolve())


def provisioned_folder(package: str) -> Path:
    """Where a provisioned package (`ziglang==0.17.1`) goes: a folder of its own in the cache."""
    return Places.find().cache / "toolchains" / package.replace("==", "-")


def compile_caches(cache: Path) -> dict[str, str]:
    """The variables that keep what compilers remember in the project's cache; one already set is kept."""
    folders = {
        "ZIG_GLOBAL_CACHE_DIR": "zig",
        "ZIG_LOCAL_CACHE_DIR": "zig",
        "GOCACHE": "go",
        "GOPATH": "gopath",
    }
    return {name: str(cache / folder) for name, folder in folders.items() if not os.environ.get(name)}


def find_bindings(places: Places) -> list[Path]:
    """Folders with a binding.toml: the references of this package, then those under bindings/, by path."""
    package = Path(__file__).resolve().parents[1]
    references = sorted(path.parent for path in (package / "reference").glob("*/binding.toml"))
    bindings = sorted(path.parent for path in (places.root / "bindings").rglob("binding.toml"))
    return references + bindings
