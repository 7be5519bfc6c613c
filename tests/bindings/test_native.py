"""native's own tests, in a process of their own: they import the compiled module, which is built first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "bindings/python/native"


@pytest.mark.timeout(900)
def test_native() -> None:
    pytest.importorskip("pybind11", reason="pip install 'hexapla[build]'")
    words = [sys.executable, "-m", "pytest", "-q", str(NATIVE / "tests")]
    run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=NATIVE)
    assert run.returncode == 0, run.stdout + run.stderr
