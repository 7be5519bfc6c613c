"""`hexapla doctor`: the table of tools found, which of several and why, and who needs them.

Separate because it asks the toolchains' questions without building or running anything.
"""

from __future__ import annotations

import argparse

from rich import box
from rich.console import Console
from rich.table import Table

from hexapla.commands.participants import find
from hexapla.toolchains import TOOLS, Places, Tool, find_tool


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla doctor`."""
    parser = subparsers.add_parser("doctor", help="print the tools found and who needs them")
    parser.set_defaults(run=doctor)


def doctor(_arguments: argparse.Namespace) -> int:
    """Always 0: a missing tool skips its language, it breaks nothing."""
    places = Places.find()
    found = find([], places, "all")
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("tool", "version", "command", "found through", "needed by"):
        table.add_column(column, overflow="fold")
    for name in TOOLS:
        tool = find_tool(name)
        users = ", ".join(each.name for each in found if each.manifest and name in each.manifest.needs)
        if isinstance(tool, Tool):
            table.add_row(name, str(tool.version), " ".join(tool.argv), tool.source, users)
        else:
            table.add_row(name, "-", "missing", tool.reason, users)
    Console(highlight=False, soft_wrap=True).print(table)
    for each in found:
        if each.problem:
            print(f"{each.name}: {each.problem}")
    return 0
