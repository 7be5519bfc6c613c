"""Manifests are refused by one clear line, versions compared as numbers, builds logged and named."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hexapla.toolchains import (
    BuildError,
    ManifestError,
    MissingTool,
    Places,
    Tool,
    ToolchainMissing,
    build_binding,
    find_bindings,
    find_tool,
    load_manifest,
)
from hexapla.toolchains.versions import Requirement, Version

GOOD = """
protocol = 1
name = "go"
language = "Go"
stack = "core"
build = [["{go}", "build", "-o", "{build}/trainer", "./cmd/trainer"]]
run = ["{build}/trainer"]
needs = { go = ">=1.24" }
silence_s = 60
[environment]
CGO_LDFLAGS = "-L{library_dir} -lhexapla -Wl,-rpath,{library_dir}"
[expected_failures]
memory = "the collector is blind"
"""


def write(folder: Path, text: str) -> Path:
    (folder / "binding.toml").write_text(text, "utf-8")
    return folder


def test_the_protocols_example_loads(tmp_path: Path) -> None:
    manifest = load_manifest(write(tmp_path, GOOD))
    assert manifest.name == "go" and manifest.needs_core
    assert manifest.needs["go"].holds(Version((1, 27, 3)))
    assert manifest.expected_failures == {"memory": "the collector is blind"}


def test_all_bindings_of_the_tree_load() -> None:
    folders = find_bindings(Places.find())
    assert {load_manifest(folder).name for folder in folders} >= {"torch", "oracle"}


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("protocol = 1", "protocol = 2", "protocol"),
        ("protocol = 1", "protocol = true", "protocol"),
        ("protocol = 1", "", "protocol: missing"),
        ('name = "go"', 'name = "../go"', "name"),
        ('stack = "core"', 'stack = "rocm"', "stack"),
        ('language = "Go"', 'language = ""', "language"),
        ("silence_s = 60", "silence_s = 0", "silence_s"),
        ("silence_s = 60", "patience = 60", "patience: unknown key"),
        ('run = ["{build}/trainer"]', "run = []", "run"),
        ('run = ["{build}/trainer"]', 'run = "trainer"', "run"),
        ('run = ["{build}/trainer"]', 'run = ["trainer"]', "not looked up"),
        ('run = ["{build}/trainer"]', 'run = ["/bin/sh"]', "outside"),
        ('run = ["{build}/trainer"]', 'run = ["{build}/../../sh"]', "outside"),
        ('run = ["{build}/trainer"]', 'run = ["{home}/trainer"]', "unknown placeholder {home}"),
        ('"./cmd/trainer"', '"-o/etc/passwd"', "outside"),
        ('"./cmd/trainer"', '"--output=/etc/passwd"', "outside"),
        ('"./cmd/trainer"', '"../cmd"', "outside"),
        ('go = ">=1.24"', 'go = "1.24"', "needs.go"),
        ('go = ">=1.24"', 'perl = ">=5"', "needs.perl"),
        ("-lhexapla", "-L/usr/lib", "outside"),
        ("CGO_LDFLAGS", '"CGO LDFLAGS"', "environment"),
        ('"the collector is blind"', '""', "expected_failures.memory"),
        ('memory = "the', 'memorry = "the', "expected_failures.memorry: neither a level nor a check"),
        ("protocol = 1", "protocol = ", "binding.toml"),
    ],
)
def test_wrong_manifests_are_named(tmp_path: Path, old: str, new: str, word: str) -> None:
    assert old in GOOD
    with pytest.raises(ManifestError) as caught:
        load_manifest(write(tmp_path, GOOD.replace(old, new)))
    text = str(caught.value)
    assert word in text and str(tmp_path) in text and "\n" not in text


def test_missing_manifest(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="No such file"):
        load_manifest(tmp_path)


def test_versions_are_numbers() -> None:
    assert Requirement.parse(">=1.9").holds(Version((1, 24, 0)))
    assert not Requirement.parse(">=1.24").holds(Version((1, 9, 9)))
    both = Requirement.parse(">=3.11, <4")
    assert both.holds(Version((3, 11, 7))) and not both.holds(Version((4, 0, 0)))
    assert Version.find("go version go1.27.3 linux/amd64") == Version((1, 27, 3))
    assert Version.find("no number") is None


def test_python_is_found_and_an_impossible_one_is_not() -> None:
    assert isinstance(find_tool("python"), Tool)
    missing = find_tool("python", Requirement.parse(">=99"))
    assert isinstance(missing, MissingTool) and ">=99" in missing.reason


PYTHON = """
protocol = 1
name = "small"
language = "Python"
stack = "other"
build = [["{python}", "-c", "CODE"]]
run = ["{python}", "{source}/trainer.py"]
"""


def places(folder: Path) -> Places:
    return Places(folder, folder / "build", folder / "cache")


def test_builds_are_logged(tmp_path: Path) -> None:
    manifest = load_manifest(write(tmp_path, PYTHON.replace("CODE", "print(6 * 7)")))
    built = build_binding(manifest, places(tmp_path), None)
    assert built.argv[1] == f"{tmp_path}/trainer.py"
    assert "42" in (built.folder / "build.log").read_text("utf-8")


def test_a_failed_build_says_its_first_error(tmp_path: Path) -> None:
    code = "import sys; print('note: fine'); print('error: no such op'); print('error: second'); sys.exit(3)"
    manifest = load_manifest(write(tmp_path, PYTHON.replace("CODE", code)))
    with pytest.raises(BuildError, match=r"^error: no such op \(exit status 3"):
        build_binding(manifest, places(tmp_path), None)


def test_a_missing_tool_is_not_a_failure(tmp_path: Path) -> None:
    text = PYTHON.replace("CODE", "1") + 'needs = { python = ">=99" }\n'
    tomllib.loads(text)
    with pytest.raises(ToolchainMissing, match=">=99"):
        build_binding(load_manifest(write(tmp_path, text)), places(tmp_path), None)
