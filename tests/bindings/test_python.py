"""The Python binding's own tests, run against a core built from this tree.

In a process of their own: the binding opens the library that HEXAPLA_LIBRARY names when it is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "core"))

from core_library import build  # noqa: E402

FOLDER = REPOSITORY / "bindings" / "python"


def test_the_binding_passes_its_own_tests() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FOLDER / "tests")],
        cwd=REPOSITORY,
        env={**os.environ, "HEXAPLA_LIBRARY": str(build())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_the_binding_is_typed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "hexapla_core"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_trainer_keeps_to_the_safe_layer() -> None:
    for path in sorted((FOLDER / "hexapla_core" / "trainer").rglob("*.py")):
        text = path.read_text("utf-8")
        assert "hexapla_core.sys" not in text, path
        assert "cffi" not in text, path
