"""The runtime under ThreadSanitizer and AddressSanitizer: stress.cpp against a core built with either.

Takes minutes to build, so it runs when asked for: HEXAPLA_SANITIZE=address,thread (or one of them).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from core_library import INCLUDE, build

WANTED = os.environ.get("HEXAPLA_SANITIZE", "").split(",")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_stress_is_clean(sanitizer: str, tmp_path: Path) -> None:
    if sanitizer not in WANTED:
        pytest.skip(f"slow: set HEXAPLA_SANITIZE={sanitizer}")
    if not shutil.which("g++"):
        pytest.skip("g++ not found")
    folder = build(sanitizer).parent
    program = tmp_path / "stress"
    source = Path(__file__).with_name("stress.cpp")
    flags = ["-std=c++20", "-g", "-O1", f"-fsanitize={sanitizer}", f"-I{INCLUDE}", f"-L{folder}"]
    link = ["-lhexapla", f"-Wl,-rpath,{folder}", "-pthread"]
    subprocess.run(["g++", *flags, str(source), *link, "-o", str(program)], check=True)
    command = [str(program), str(tmp_path / "ledger.bin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-4000:]
