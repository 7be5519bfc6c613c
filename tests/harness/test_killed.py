"""A harness killed in the middle leaves results that can be read and no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from fake_types import MakeBinding
from hexapla.cli import main
from hexapla.protocol.results import Outcome, read_results


def started_from(folder: Path) -> list[psutil.Process]:
    """Living processes whose command line names the folder, and the sleepers of `grandchild`."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            if str(folder) in line and process.status() != psutil.STATUS_ZOMBIE:
                found += [process, *process.children(recursive=True)]
        except psutil.Error:
            continue
    return found


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def begin(run: Path, folder: Path) -> subprocess.Popen[bytes]:
    """A harness on its own, at `rendering` of whatever lies in the folder."""
    words = ["conform", "--spec", "micro", "--references", "none", "--results", str(run), "--jobs", "4"]
    # A shell makes what it starts in the background deaf to SIGINT, and children inherit it.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "hexapla.cli", *words, "--binding", str(folder), "--level", "rendering"],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def asked(run: Path, *names: str) -> Callable[[], bool]:
    return lambda: all((run / "events" / name / "render-tiny-train.jsonl").exists() for name in names)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_harness(
    tmp_path: Path, binding: MakeBinding, capsys: pytest.CaptureFixture[str], how: signal.Signals
) -> None:
    for fake in ("good", "hang", "grandchild"):
        folder = binding(fake, silence_s=60).parent
    run = tmp_path / "run"
    harness = begin(run, folder)
    wait_until(asked(run, "hang", "grandchild"))
    time.sleep(0.5)  # the grandchild needs its time to leave the group
    brood = started_from(folder)
    assert any("sleep" in process.name() for process in brood)
    os.kill(harness.pid, how)
    status = harness.wait(timeout=20)
    assert status == (-signal.SIGKILL if how is signal.SIGKILL else 3)
    wait_until(lambda: not any(process.is_running() for process in brood))
    read = read_results(run)
    assert read.header is not None and read.footer is None and not read.finished
    assert main(["report", str(run), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["finished"] is False
    assert "partial result" in (run / "summary.md").read_text("utf-8")


def test_lines_before_the_kill_are_kept(tmp_path: Path, binding: MakeBinding) -> None:
    """Two levels: the first is judged and written, the second hangs."""
    binding("good")
    folder = binding("hang", silence_s=60).parent
    run = tmp_path / "run"
    words = ["conform", "--spec", "micro", "--references", "none", "--results", str(run), "--jobs", "2"]
    levels = ["--level", "loading", "--level", "rendering"]
    harness = subprocess.Popen(
        [sys.executable, "-m", "hexapla.cli", *words, "--binding", str(folder), *levels],
        stdout=subprocess.DEVNULL,
    )
    wait_until(asked(run, "hang"))
    harness.kill()
    harness.wait()
    lines = read_results(run).lines
    assert {(line.implementation, line.level, line.outcome) for line in lines} == {
        ("good", "loading", Outcome.SKIPPED),
        ("hang", "loading", Outcome.SKIPPED),
    }
    wait_until(lambda: not started_from(folder))
