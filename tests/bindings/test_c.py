"""The README example of the C binding: compiled with warnings as errors, and run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hexapla.toolchains import Places
from hexapla.toolchains.core import build_core
from hexapla.toolchains.tools import MissingTool, find_tool

PLACES = Places.find()
BINDING = PLACES.root / "bindings" / "c"


def test_the_example_of_the_readme(tmp_path: Path) -> None:
    tool = find_tool("cc")
    if isinstance(tool, MissingTool):
        pytest.skip(tool.reason)
    core = build_core(PLACES)
    source, program = tmp_path / "example.c", tmp_path / "example"
    source.write_text((BINDING / "README.md").read_text("utf-8").split("```c\n")[1].split("```")[0], "utf-8")
    safe = [str(path) for path in sorted((BINDING / "safe").glob("*.c"))]
    folder = core.library.parent
    flags = [
        "-std=c17",
        "-D_GNU_SOURCE",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{core.include}",
        f"-I{BINDING / 'safe'}",
    ]
    link = [f"-L{folder}", "-lhexapla", f"-Wl,-rpath,{folder}"]
    command = [*tool.argv, *flags, str(source), *safe, "-o", str(program), *link]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout == "0.5\n"
