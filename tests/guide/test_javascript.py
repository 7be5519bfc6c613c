"""The guide's own proof: the binding that docs/add-a-language.md leads to builds and is green.

Separate from the bindings' tests because it is no binding of the project: it shows that headers, documents
and guide are enough. Skipped by name where Node.js or the npm package cannot be had.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hexapla.cli import main
from hexapla.toolchains import (
    Built,
    Places,
    ToolchainMissing,
    build_binding,
    build_core,
    load_manifest,
)

# The first conform after a change of core builds it, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(900)

BINDING = Path(__file__).parent / "javascript"
LEVELS = ("abi", "operators", "loading", "rendering", "untrained", "trajectory", "checkpoint")


@pytest.fixture(scope="module")
def built() -> Built:
    try:
        found = build_binding(load_manifest(BINDING), Places.find(), build_core(Places.find()))
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    note = found.folder / "not-installed"
    if note.exists():
        pytest.skip(note.read_text("utf-8"))
    return found


class Trainer:
    """Lines to the trainer, events back, its exit status."""

    def __init__(self, built: Built) -> None:
        self.built = built
        self.status = -1

    def __call__(self, *lines: bytes) -> list[dict[str, Any]]:
        done = subprocess.run(
            self.built.argv,
            input=b"\n".join(lines),
            capture_output=True,
            env=self.built.environment,
            timeout=60,
            check=False,
        )
        assert done.stderr == b""
        self.status = done.returncode
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def trainer(built: Built) -> Iterator[Trainer]:
    yield Trainer(built)


def test_it_is_green_and_has_the_bits_of_c(built: Built, tmp_path: Path) -> None:
    words = ["conform", "--binding", str(BINDING), "--binding", "c", "--references", "oracle"]
    words += [word for level in LEVELS for word in ("--level", level)]
    assert main([*words, "--spec", "micro", "--results", str(tmp_path / "run")]) == 0
    lines = [
        json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text("utf-8").splitlines()
    ]
    said = {line["level"]: line["outcome"] for line in lines if line.get("implementation") == "javascript"}
    assert said == dict.fromkeys(LEVELS, "pass")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"\xff", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b" ", "empty line"),
        (b'{"a":1,"a":2}', 'duplicate key "a"'),
        (b'{"a":"\\ud800"}', "lone surrogate"),
        (b'{"a":1e999}', "not finite in f64"),
        (b"[" * 65 + b"]" * 65, "nesting past 64"),
        (b"{} x", "text behind the value"),
        (b"01", "text behind the value"),
        (b'"a\tb"', "control character"),
        (b"null", "no object with a string id"),
    ],
)
def test_lines_are_strict(trainer: Trainer, line: bytes, said: str) -> None:
    """Each is refused with its number, and the trainer lives on."""
    events = trainer(
        b'{"protocol":1,"id":"a","request":"hello"}\r', line, b'{"protocol":1,"id":"b","request":"hello"}'
    )
    assert [event["event"] for event in events] == ["hello", "done", "error", "hello", "done", "bye"]
    error = events[2]
    assert (error["id"], error["status"], error["where"]) == ("", "request", "stdin:2")
    assert said in error["message"] and trainer.status == 2


def test_words_of_a_failed_call_are_cores(trainer: Trainer, tmp_path: Path) -> None:
    """Status and text of core reach the event; nothing stays live; the exit status is that of an error."""
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}', "utf-8")
    model = Places.find().root / "harness" / "hexapla" / "data" / "embedded" / "model"
    context = {"device": "cpu:0", "threads": 1, "memory_limit": 4096, "spill": False, "ledger": None}
    load = {"protocol": 1, "id": "l", "request": "load", "model": str(model), "context": context}
    foreign = {**load, "model": str(tmp_path)}
    unknown = {**load, "context": {**context, "mood": 1}}
    events = trainer(*(json.dumps(each).encode() for each in (load, foreign, unknown)))
    errors = [event for event in events if event["event"] == "error"]
    assert [error["status"] for error in errors] == ["HXP_OUT_OF_MEMORY", "checkpoint", "request"]
    assert "4,096" in errors[0]["message"] or "4096" in errors[0]["message"]
    assert errors[2]["message"] == "unknown key mood" and errors[2]["where"] == "context.mood"
    assert events[-1] == {"id": "", "event": "bye", "handles_live": 0, "bytes_live": 0}
    assert trainer.status == 1


def test_a_missing_package_is_skipped_by_name(built: Built, tmp_path: Path) -> None:
    """Without the package hello ends in skipped, with the reason that the build left."""
    (tmp_path / "not-installed").write_text("npm cannot be started (ENOENT)", "utf-8")
    trainer = Trainer(built)
    trainer.built = Built(
        built.manifest,
        built.argv,
        {**built.environment, "HEXAPLA_MODULES": str(tmp_path)},
        built.folder,
        0.0,
    )
    events = trainer(b'{"protocol":1,"id":"a","request":"hello"}')
    assert events[0] == {"id": "a", "event": "skipped", "reason": "npm cannot be started (ENOENT)"}
    assert events[1] == {"id": "", "event": "bye", "handles_live": None, "bytes_live": None}
    assert trainer.status == 0


def test_a_machine_without_npm_is_no_failed_build(built: Built, tmp_path: Path) -> None:
    node = built.argv[0]
    environment = {**built.environment, "PATH": str(tmp_path)}
    command = [node, str(BINDING / "install.mjs"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "npm cannot be started" in (tmp_path / "not-installed").read_text("utf-8")


def test_the_lock_file_names_no_place() -> None:
    """Every package is pinned by its hash; where it comes from is this machine's own setting."""
    packages = json.loads((BINDING / "package-lock.json").read_text("utf-8"))["packages"]
    pinned = {name: value for name, value in packages.items() if name}
    assert pinned and all(value["integrity"].startswith("sha512-") for value in pinned.values())
    assert not any("resolved" in value for value in pinned.values())


def test_the_example_of_the_readme_runs(built: Built, tmp_path: Path) -> None:
    text = (BINDING / "README.md").read_text("utf-8").split("```js\n")[1].split("```")[0]
    example = tmp_path / "example.mjs"
    example.write_text(text.replace('"./safe.mjs"', json.dumps(str(BINDING / "safe.mjs"))), "utf-8")
    command = [built.argv[0], str(example)]
    done = subprocess.run(command, env=built.environment, capture_output=True, text=True, check=False)
    assert done.stdout == "Float32Array(1) [ 11 ] Float32Array(2) [ 3, 4 ]\n" and done.stderr == ""
