"""What the harness's tests share: a fake trainer as a binding, or as a running process."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_device import FakeDeviceGauge
from fake_types import FAKES, MakeBinding, MakeTrainer
from hexapla.process import DeviceWatch, Launch, Limits, Trainer
from hypothesis import settings

settings.register_profile("fuzz", max_examples=2000, deadline=None)
settings.register_profile("default", max_examples=100, deadline=None)


@pytest.fixture
def fake_device(tmp_path: Path) -> Iterator[Path]:
    """The folder of a fake device; whoever holds it is ended after the test."""
    folder = tmp_path / "device"
    folder.mkdir()
    yield folder
    for holder in folder.iterdir():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(holder.name), signal.SIGKILL)


@pytest.fixture
def trainer(tmp_path: Path, fake_device: Path) -> Iterator[MakeTrainer]:
    """Starts a fake by its name, beside a fake device; whatever it leaves is ended after the test."""
    started: list[Trainer] = []
    environment = {**os.environ, "FAKE_DEVICE": str(fake_device), "FAKE_DEVICE_SECONDS": "30"}

    def start(
        fake: str, silence_s: float = 20.0, limits: Limits | None = None, device: DeviceWatch | None = None
    ) -> Trainer:
        launch = Launch(
            name=fake,
            argv=[sys.executable, str(FAKES / f"{fake}.py")],
            directory=FAKES,
            environment=environment,
            language="Python",
            silence_s=silence_s,
            results=tmp_path,
            limits=limits or Limits(),
            device=device or DeviceWatch(FakeDeviceGauge(fake_device)),
        )
        started.append(Trainer(launch))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How often each fake of the zoo was named right, and the slowest time it took."""
    counts: dict[str, list[bool]] = {}
    slowest: dict[str, float] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            said = dict(report.user_properties)
            if "zoo" in said and report.when == "call":
                counts.setdefault(said["zoo"], []).append(outcome == "passed")
                slowest[said["zoo"]] = max(
                    slowest.get(said["zoo"], 0.0), said.get("seconds", report.duration)
                )
    if counts:
        terminalreporter.section("zoo")
    for fake, right in counts.items():
        terminalreporter.write_line(f"{sum(right)} of {len(right)}  {slowest[fake]:5.1f} s  {fake}")


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
            shutil.copy(FAKES / "another.jsonl", folder)
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
