"""`hexapla doctor`: the tools found, which of several and why, what will be provisioned, the disk it takes.

Separate because it asks the toolchains' questions without building, installing or running anything.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from hexapla.commands.participants import Found, find
from hexapla.toolchains import TOOLS, Places, Tool, find_tool, on_path

# Measured on disk and rounded up: core (6) with the bindings c, go, native, rust and zig (120, of which
# zig's cache 97); a run of the level threads over core's trainers, most of it ledgers.
_BUILD_MIB = 150
_RUN_MIB = 300


@dataclass(frozen=True, slots=True)
class Row:
    """One tool. `version` is "" for a missing one; `why` says through what it was found, or why it was not.
    provision: the package that a run brings, "" for none; mib: what that takes."""

    tool: str
    version: str
    command: str
    why: str
    needed_by: list[str]
    provision: str
    mib: int


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla doctor`."""
    parser = subparsers.add_parser("doctor", help="print the tools found, and what a run would provision")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=doctor)


def doctor(arguments: argparse.Namespace) -> int:
    """Always 0: a missing tool skips its language, it breaks nothing."""
    places = Places.find()
    found = find([], places, "all")
    rows = [_row(name, found) for name in TOOLS]
    # Several tools may come with one package.
    packages = {row.provision: row.mib for row in rows if row.provision and row.needed_by}
    disk = {
        "provisioned_mib": sum(packages.values()),
        "build_mib": _BUILD_MIB,
        "run_mib": _RUN_MIB,
        "free_mib_at_cache": _free_mib(places.cache),
        "free_mib_at_build": _free_mib(places.build),
    }
    problems = {each.name: each.problem for each in found if each.problem}
    if arguments.json:
        value = {"tools": [asdict(row) for row in rows], "disk": disk, "problems": problems}
        print(json.dumps(value, ensure_ascii=False, indent=2))
        return 0
    Console(highlight=False, soft_wrap=True).print(_table(rows))
    for package, mib in packages.items():
        print(f"a run will provision {package} by pip: {mib} MiB in {places.cache / 'toolchains'}")
    print(
        f"disk: {disk['provisioned_mib']} MiB to provision ({disk['free_mib_at_cache']:,} free there), "
        f"{_BUILD_MIB} MiB to build and {_RUN_MIB} MiB a run ({disk['free_mib_at_build']:,} free)"
    )
    for name, problem in problems.items():
        print(f"{name}: {problem}")
    return 0


def _row(name: str, found: list[Found]) -> Row:
    tool = find_tool(name)
    needed_by = [each.name for each in found if each.manifest and name in _tools_of(each)]
    if isinstance(tool, Tool):
        why = f"{tool.source}{_passed_over(name, tool)}"
        return Row(name, str(tool.version), " ".join(tool.argv), why, needed_by, "", 0)
    kind = TOOLS[name]
    return Row(name, "", "", tool.reason, needed_by, kind.package, kind.package_mib if kind.package else 0)


def _tools_of(found: Found) -> set[str]:
    """The tools that a manifest names, and the compilers of core for who stands on core."""
    assert found.manifest is not None
    return set(found.manifest.needs) | ({"cc", "cxx"} if found.manifest.needs_core else set())


def _passed_over(name: str, tool: Tool) -> str:
    shell = on_path(name)
    if shell is None or shell[1] == tool.version:
        return ""
    path, version = shell
    return f"; the one on PATH, {path}, is {version or 'of no known version'} and is not used"


def _table(rows: list[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("tool", "version", "command", "found through", "needed by"):
        table.add_column(column, overflow="fold")
    for row in rows:
        needed = ", ".join(row.needed_by)
        table.add_row(row.tool, row.version or "-", row.command or "missing", row.why, needed)
    return table


def _free_mib(folder: Path) -> int:
    """Free space where a folder is, or will be."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(existing).free >> 20
