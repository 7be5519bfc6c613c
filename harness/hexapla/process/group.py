"""Everything that a trainer's process brought into the world, as one thing to watch and to end.

Separate because "the process" is not enough: a child may leave the group, hold the pipes or outlive
its parent. A trainer runs in a session of its own; what leaves even that is found by a token in its
environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

import psutil

TOKEN_VARIABLE = "HEXAPLA_TRAINER_TOKEN"

_DYING_SECONDS = 2.0  # on a busy machine a killed process runs on for a moment; one in the kernel may stay

# What makes a runtime print its stacks. Python's trainers run with PYTHONFAULTHANDLER=1.
_STACK_SIGNALS = {"python": signal.SIGABRT, "java": signal.SIGQUIT, "go": signal.SIGQUIT}


def members(session: int) -> list[psutil.Process]:
    """Processes of a session that still run, zombies left out. Session 0: none."""
    found = []
    for pid in psutil.pids() if session else ():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(pid) == session:
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
    return found


def marked(token: str) -> list[psutil.Process]:
    """Processes of this user that carry the token in their environment, whatever their session."""
    found = []
    me = os.getuid()
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if process.uids().real != me or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get(TOKEN_VARIABLE) == token:
                found.append(process)
    return found


def left(session: int, token: str) -> list[psutil.Process]:
    """What still runs of a session or carries the token, each once."""
    return list({process.pid: process for process in members(session) + marked(token)}.values())


def cpu_seconds(session: int) -> float:
    """CPU time of a session's processes and of the children they waited for."""
    total = 0.0
    for process in members(session):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
            total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total


def ask_for_stacks(pid: int, language: str) -> bool:
    """Have the runtime print its stacks; False where there is no way to."""
    stack_signal = _STACK_SIGNALS.get(language.lower())
    if stack_signal is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, stack_signal)
        return True
    return False


def pause(session: int, seconds: float) -> Callable[[], bool]:
    """Stop a whole session for `seconds`, beginning now, and return before they are over.

    What is returned says whether its first process stood still until it was let go on.
    """
    stood = threading.Event()

    def go_on() -> None:
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if psutil.Process(session).status() == psutil.STATUS_STOPPED:
                stood.set()
            os.killpg(session, signal.SIGCONT)

    os.killpg(session, signal.SIGSTOP)
    timer = threading.Timer(seconds, go_on)
    timer.daemon = True
    timer.start()
    return stood.is_set


def kill(session: int, token: str) -> None:
    """End a trainer's whole session, and what left it, without a chance to object.

    Returns when nothing of it runs any more; a process that the system cannot end is given up after a while.
    """
    if session:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGKILL)
    deadline = time.monotonic() + _DYING_SECONDS
    while (alive := left(session, token)) and time.monotonic() < deadline:
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)
