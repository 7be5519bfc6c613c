"""`hexapla new-binding`: what it writes starts and is skipped by name; what it refuses leaves nothing."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hexapla.cli import main
from hexapla.protocol import LEVELS
from hexapla.toolchains import (
    MissingTool,
    Places,
    ToolchainMissing,
    build_binding,
    build_core,
    find_tool,
    load_manifest,
)

# The first conform after a change of core builds it, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(900)


def made(capfd: pytest.CaptureFixture[str], folder: Path, name: str, language: str) -> dict:
    assert main(["new-binding", name, "--language", language, "--out", str(folder), "--json"]) == 0
    value = json.loads(capfd.readouterr().out)
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("language", "tool", "stub"),
    [
        ("JavaScript", "node", "JavaScript"),
        ("Python", "python", "Python"),
        ("Go", "go", "Go"),
        ('Com"mon \\ Lisp', "python", "Python"),
    ],
)
def test_a_stub_is_skipped_at_every_level(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], language: str, tool: str, stub: str
) -> None:
    """Hello passes, nothing fails, and nothing claims to be more than skipped."""
    if isinstance(find_tool(tool), MissingTool):
        pytest.skip(f"no {tool}")
    folder = tmp_path / "a seventh"
    value = made(capfd, folder, "seventh", language)
    assert value["stub_language"] == stub and sorted(value["files"]) == sorted(
        path.name for path in folder.iterdir()
    )
    assert load_manifest(folder).language == language
    words = ["conform", "--binding", str(folder), "--references", "none", "--spec", "micro", "--json"]
    assert main([*words, "--results", str(tmp_path / "run")]) == 0
    lines = [
        json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text("utf-8").splitlines()
    ]
    said = {line["level"]: line["outcome"] for line in lines if "level" in line}
    assert said == dict.fromkeys(LEVELS, "skipped")
    capfd.readouterr()
    assert main([*words, "--strict", "--results", str(tmp_path / "strict")]) == 1


@pytest.mark.parametrize("language", ["JavaScript", "Python", "Go"])
def test_a_stub_keeps_the_protocol(tmp_path: Path, capfd: pytest.CaptureFixture[str], language: str) -> None:
    """A line that cannot be read is an error and the exit status 2; the next request is answered."""
    folder = tmp_path / "stub"
    made(capfd, folder, "stub", language)
    places = Places.find()
    try:
        core = build_core(places)
        built = build_binding(load_manifest(folder), replace(places, build=tmp_path / "build"), core)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    lines = b'{"protocol":1,"id":"a","request":"load"}\n\xff\n{"protocol":1,"id":"b","request":"hello"}'
    done = subprocess.run(built.argv, input=lines, capture_output=True, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["id"], each["event"]) for each in events] == [
        ("a", "skipped"),
        ("", "error"),
        ("b", "hello"),
        ("b", "done"),
        ("", "bye"),
    ]
    assert done.returncode == 2 and done.stderr == b""


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [
        ("../x", "X", "NAME '../x': must be"),
        ("Seventh", "X", "NAME 'Seventh': must be"),
        ("", "X", "NAME '': must be"),
        ("oracle", "X", "NAME oracle: an implementation of that name is in"),
        ("seventh", " ", "--language ' ': must be"),
        ("seventh", "a\nb", "--language"),
        ("seventh", "X" * 41, "--language"),
    ],
)
def test_bad_words_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, language: str, said: str
) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["new-binding", name, "--language", language, "--out", str(out)]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"hexapla: {said}") and error.count("\n") == 1
    assert not out.parent.exists()


def test_an_existing_folder_is_left_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept").write_text("mine", "utf-8")
    assert main(["new-binding", "seventh", "--language", "X", "--out", str(tmp_path)]) == 2
    assert f"--out {tmp_path}: exists already" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    file = tmp_path / "kept" / "below"
    assert main(["new-binding", "seventh", "--language", "X", "--out", str(file)]) == 2
    assert "--out" in capfd.readouterr().err and (tmp_path / "kept").read_text("utf-8") == "mine"
