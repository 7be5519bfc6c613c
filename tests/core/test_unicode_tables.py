"""The committed Unicode tables are what the script makes from the pinned `tokenizers`, byte for byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from formats_support import REPOSITORY


def test_tables_are_reproducible(tmp_path: Path) -> None:
    script = REPOSITORY / "scripts" / "unicode" / "make_tables.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["unicode_tables.cpp", "unicode_tables.hpp"]
    for name in made:
        committed = REPOSITORY / "core" / "src" / "formats" / name
        assert (tmp_path / name).read_bytes() == committed.read_bytes(), f"{name}: run {script.name} again"
