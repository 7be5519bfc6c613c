"""The Rust binding by Rust's own means: format, clippy, `cargo test` of safe layer, examples and trainer.

Needs the `cargo` of the manifest and a built core; without them the tests are skipped by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hexapla.toolchains import Places
from hexapla.toolchains.core import build_core
from hexapla.toolchains.manifest import load_manifest
from hexapla.toolchains.tools import MissingTool, find_tool

PLACES = Places.find()
BINDING = PLACES.root / "bindings" / "rust"


@pytest.fixture(scope="module")
def cargo() -> str:
    tool = find_tool("rust", load_manifest(BINDING).needs["rust"])
    if isinstance(tool, MissingTool):
        pytest.skip(tool.reason)
    found = shutil.which("cargo")
    if found is None:
        pytest.skip("no cargo on PATH")
    return found


def run(*command: str) -> str:
    """Its output; the test fails with it when the command does."""
    folder = build_core(PLACES).library.parent
    flags = f"-L native={folder} -C link-arg=-Wl,-rpath,{folder}"
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(PLACES.build / "bindings" / "rust" / "tests"),
        "RUSTFLAGS": flags,
        "RUSTDOCFLAGS": flags,
    }
    done = subprocess.run(command, cwd=BINDING, env=environment, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output


@pytest.mark.parametrize(
    ("component", "words"),
    [("fmt", ["fmt", "--check"]), ("clippy", ["clippy", "--offline", "--workspace", "--all-targets"])],
)
def test_sources_are_clean(cargo: str, component: str, words: list[str]) -> None:
    if shutil.which(f"cargo-{component}") is None:
        pytest.skip(f"no cargo-{component}: rustup component add {component}")
    deny = ["--", "-D", "warnings"] if component == "clippy" else []
    run(cargo, *words, *deny)


def test_its_own_tests_pass(cargo: str) -> None:
    output = run(cargo, "test", "--offline", "--workspace")
    assert "test result: ok" in output and "FAILED" not in output
