"""The Go binding by Go's own means: format, vet, `go test` of the safe layer, its example and the trainer.

Needs the `go` of the manifest, a C compiler and a built core; without them the tests are skipped by name.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hexapla.toolchains import Places
from hexapla.toolchains.core import build_core
from hexapla.toolchains.manifest import load_manifest
from hexapla.toolchains.tools import MissingTool, find_tool

PLACES = Places.find()
BINDING = PLACES.root / "bindings" / "go"


@pytest.fixture(scope="module")
def go() -> list[str]:
    tool = find_tool("go", load_manifest(BINDING).needs["go"])
    if isinstance(tool, MissingTool):
        pytest.skip(tool.reason)
    return list(tool.argv)


def run(command: list[str]) -> str:
    """Its stdout; the test fails with all it said when the command does."""
    core = build_core(PLACES)
    folder = core.library.parent
    environment = {
        **os.environ,
        "CGO_CFLAGS": f"-O2 -I{core.include}",
        "CGO_LDFLAGS": f"-L{folder} -lhexapla -Wl,-rpath,{folder}",
        "GOFLAGS": "-buildvcs=false",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
    }
    done = subprocess.run(command, cwd=BINDING, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_sources_are_formatted_and_vetted(go: list[str]) -> None:
    root = Path(run([*go, "env", "GOROOT"]).strip())
    assert run([str(root / "bin" / "gofmt"), "-l", "."]) == ""
    run([*go, "vet", "./..."])


def test_its_own_tests_pass(go: list[str]) -> None:
    output = run([*go, "test", "-p", "2", "./..."])
    assert "ok" in output and "FAIL" not in output
