"""What the harness's tests share: a fake trainer as a binding, or as a running process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_types import FAKES, MakeBinding, MakeTrainer
from hexapla.process import Launch, Limits, Trainer


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[MakeTrainer]:
    """Starts a fake by its name; whatever it leaves is ended after the test."""
    started: list[Trainer] = []

    def start(fake: str, silence_s: float = 20.0, limits: Limits | None = None) -> Trainer:
        launch = Launch(
            name=fake,
            argv=[sys.executable, str(FAKES / f"{fake}.py")],
            directory=FAKES,
            environment=dict(os.environ),
            language="Python",
            silence_s=silence_s,
            results=tmp_path,
            limits=limits or Limits(),
        )
        started.append(Trainer(launch))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def binding(tmp_path: Path) -> MakeBinding:
    """Makes a folder with a binding.toml around a fake, or around the oracle under another name."""

    def make(
        fake: str, name: str = "", silence_s: float = 20.0, stack: str = "other", words: str = ""
    ) -> Path:
        folder = tmp_path / "bindings" / (name or fake).replace("_", "-")
        folder.mkdir(parents=True)
        run = '["{python}", "-m", "hexapla.reference.oracle"]'
        if fake != "oracle":
            shutil.copy(FAKES / "speak.py", folder)
            shutil.copy(FAKES / f"{fake}.py", folder / "trainer.py")
            run = f'["{{python}}", "{{source}}/trainer.py", "{words}"]'
        lines = [
            "protocol = 1",
            f'name = "{folder.name}"',
            'language = "Python"',
            f'stack = "{stack}"',
            f"run = {run}",
            f"silence_s = {silence_s}",
        ]
        (folder / "binding.toml").write_text("\n".join(lines) + "\n", "utf-8")
        return folder

    return make
