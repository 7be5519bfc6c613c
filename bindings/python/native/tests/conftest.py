"""Where the tests find the compiled module: HEXAPLA_NATIVE names its folder, else it is built as the harness
builds it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hexapla.data.adapter import make_initial_adapter
from hexapla.toolchains.build import build_binding
from hexapla.toolchains.core import build_core
from hexapla.toolchains.manifest import load_manifest
from hexapla.toolchains.places import Places

NATIVE = Path(__file__).resolve().parents[1]
REPOSITORY = NATIVE.parents[2]
EMBEDDED = REPOSITORY / "harness/hexapla/data/embedded"
CONTEXT = {"device": "cpu:0", "threads": 1, "memory_limit": 0, "spill": False, "ledger": None}
MICRO = json.loads((REPOSITORY / "harness/hexapla/spec/micro.json").read_text("utf-8"))


def module_folder() -> str:
    ready = os.environ.get("HEXAPLA_NATIVE")
    if ready:
        return ready
    places = Places.find()
    return str(build_binding(load_manifest(NATIVE), places, build_core(places)).folder)


FOLDER = module_folder()
sys.path[:0] = [str(NATIVE), FOLDER]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{NATIVE}{os.pathsep}{FOLDER}"}

Event = dict[str, Any]
Talk = Callable[..., tuple[list[Event], int]]


@pytest.fixture
def talk() -> Talk:
    """Send requests (dicts or raw lines) and `bye`; the events and the exit status."""

    def run(*requests: dict[str, Any] | bytes, keep_open: bool = True) -> tuple[list[Event], int]:
        lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in requests]
        if keep_open:
            lines.append(b'{"protocol": 1, "id": "bye", "request": "bye"}')
        process = subprocess.Popen(
            [sys.executable, "-m", "hexapla_native_trainer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRONMENT,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        process.stdin.flush()
        if not keep_open:
            process.stdin.close()
        events = [json.loads(line) for line in process.stdout]
        status = process.wait()
        process.stdout.close()
        if keep_open:
            process.stdin.close()
        return events, status

    return run


@pytest.fixture(scope="session")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("adapter")
    make_initial_adapter(EMBEDDED / "model", MICRO, folder)
    return str(folder)


@pytest.fixture
def train(adapter: str, tmp_path: Path) -> dict[str, Any]:
    """A train request without protocol, id, request and context."""
    return {
        "spec": MICRO,
        "spec_digest": "digest",
        "model": str(EMBEDDED / "model"),
        "tokenizer": str(EMBEDDED / "tokenizer"),
        "train": str(EMBEDDED / "records/micro/train.jsonl"),
        "heldout": str(EMBEDDED / "records/micro/heldout.jsonl"),
        "adapter": adapter,
        "output": str(tmp_path / "out"),
        "resume_from": None,
        "stop_after": None,
        "schedule": "pinned",
        "release": "explicit",
    }
