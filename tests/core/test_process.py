"""What the library does to the process around it: at exit, with its threads, with its symbols."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from core_calls import Core

HERE = Path(__file__).parent


def run(program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


ALL_LIVE = """
from core_calls import Core
core = Core()
context = core.context(threads=2)
tensor = core.tensor(context, [1.0])
core.call("tensor_add_in_place", tensor, 1.0)
"""

LATE_RELEASE = """
import atexit, threading, time
from core_calls import Core
core = Core()
contexts = [core.context(threads=2) for _ in range(4)]
tensors = [core.tensor(context, [1.0]) for context in contexts for _ in range(50)]
def release():
    for tensor in tensors:
        core.call("tensor_release", tensor)
        time.sleep(0.0005)
threading.Thread(target=release, daemon=True).start()
atexit.register(lambda: [core.call("context_release", context) for context in contexts])
"""


@pytest.mark.parametrize("program", [ALL_LIVE, LATE_RELEASE], ids=["all_live", "late_release"])
def test_a_process_ends_cleanly_whatever_lives(core: Core, program: str) -> None:
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_idle_context_uses_no_processor(core: Core) -> None:
    context = core.context(threads=2)
    tensor = core.tensor(context, [1.0])
    core.call("tensor_add_in_place", tensor, 1.0)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.05
    core.release("tensor", tensor)
    core.release("context", context)


def worker_masks(count: int) -> list[int]:
    """Blocked signals of the workers, once there are so many: a thread names itself after its start."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        masks = []
        for task in Path("/proc/self/task").iterdir():
            if (task / "comm").read_text().startswith("hexapla-"):
                fields = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
                masks.append(int(fields["SigBlk"], 16))
        if len(masks) == count:
            return masks
        time.sleep(0.01)
    return masks


def test_worker_threads_take_no_signals(core: Core) -> None:
    context = core.context(threads=2)
    tensor = core.tensor(context, [1.0])
    core.call("tensor_add_in_place", tensor, 1.0)
    usr1, alarm, segv = 1 << 9, 1 << 13, 1 << 10
    masks = worker_masks(2)
    assert len(masks) == 2
    assert all(mask & usr1 and mask & alarm and not mask & segv for mask in masks)
    core.release("tensor", tensor)
    core.release("context", context)


def test_build_info_is_one_line_and_names_the_parts(core: Core) -> None:
    info = core.ffi.string(core.lib.hxp_build_info()).decode()
    assert "\n" not in info
    for part in ("hexapla 0.1.0", "commit ", "BLAS ", "backends cpu", "faults none"):
        assert part in info
    assert core.ffi.string(core.lib.hxp_build_faults()) == b""
    assert core.lib.hxp_abi_version() == 1
