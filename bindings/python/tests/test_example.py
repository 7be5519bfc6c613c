"""The example of the README is the file, and the file runs."""

from __future__ import annotations

import os
import subprocess
import sys

from conftest import BINDING

EXAMPLE = BINDING / "examples" / "least_squares.py"


def test_the_readme_shows_the_file() -> None:
    assert EXAMPLE.read_text("utf-8").strip() in (BINDING / "README.md").read_text("utf-8")


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)],
        env={**os.environ, "PYTHONPATH": str(BINDING)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[[2.0, -1.0]]\n"
    assert done.stderr == ""
