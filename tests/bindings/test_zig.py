"""The Zig binding by Zig's own means: format, tests of the safe layer and the trainer's stages, the example.

Needs the `zig` of the manifest and a built core; without Zig the tests are skipped by name. What the trainer
says is held to the other implementations by `hexapla conform`, not here.
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
BINDING = PLACES.root / "bindings" / "zig"
TOKENIZER = PLACES.root / "harness" / "hexapla" / "data" / "embedded" / "tokenizer"
LIBRARY = ["--dep", "hexapla"]
HEXAPLA = f"-Mhexapla={BINDING / 'src' / 'hexapla.zig'}"


@pytest.fixture(scope="module")
def zig() -> list[str]:
    tool = find_tool("zig", load_manifest(BINDING).needs["zig"])
    if isinstance(tool, MissingTool):
        pytest.skip(tool.reason)
    return list(tool.argv)


@pytest.fixture(scope="module")
def link() -> list[str]:
    folder = build_core(PLACES).placeholders["library_dir"]
    cache = str(PLACES.build / "bindings" / "zig" / "cache")
    flags = ["-mcpu=baseline", "-lc", f"-L{folder}", "-lhexapla", "-rpath", folder, "-fno-each-lib-rpath"]
    return [*flags, "--cache-dir", cache, "--global-cache-dir", cache]


def run(command: list[str], folder: Path) -> str:
    """Its stdout and stderr; the test fails with them when the command does."""
    environment = {**os.environ, "HEXAPLA_TOKENIZER": str(TOKENIZER)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_sources_are_formatted(zig: list[str], tmp_path: Path) -> None:
    run([*zig, "fmt", "--check", str(BINDING)], tmp_path)


def test_safe_layer(zig: list[str], link: list[str], tmp_path: Path) -> None:
    output = run([*zig, "test", *LIBRARY, f"-Mroot={BINDING / 'tests.zig'}", HEXAPLA, *link], tmp_path)
    assert "skipped" not in output


def test_stages_of_the_trainer(zig: list[str], link: list[str], tmp_path: Path) -> None:
    root = f"-Mroot={BINDING / 'src' / 'trainer' / 'main.zig'}"
    run([*zig, "test", *LIBRARY, root, HEXAPLA, *link], tmp_path)


def test_example_of_the_readme(zig: list[str], link: list[str], tmp_path: Path) -> None:
    program = tmp_path / "example"
    build = [*zig, "build-exe", *LIBRARY, f"-Mroot={BINDING / 'example.zig'}", HEXAPLA, *link]
    run([*build, f"-femit-bin={program}"], tmp_path)
    assert run([str(program)], tmp_path).strip() == "{ 2, 4, 6 }"
    heart = (BINDING / "README.md").read_text("utf-8").split("```zig\n")[1].split("```")[0]
    source = (BINDING / "example.zig").read_text("utf-8")
    for line in heart.splitlines():
        assert line in source, line
