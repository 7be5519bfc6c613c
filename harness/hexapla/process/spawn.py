"""Start one trainer's process: pipes, a session of its own, and what makes a runtime that dies say how.

Separate from the trainer that is then asked: what every process is started with is decided here alone.
"""

from __future__ import annotations

import subprocess

from hexapla.process import group
from hexapla.process.failure import TrainerFailure
from hexapla.process.guard import GUARD
from hexapla.process.launch import Launch
from hexapla.protocol import Reason

# Python prints its stacks when it dies by a signal. Go prints them and exits with status 2, as a program that
# ended by itself would, unless it is told to end by a signal as well; a manifest may tell it otherwise.
_LAST_WORDS = {"PYTHONFAULTHANDLER": "1", "GOTRACEBACK": "crash"}


def spawn(launch: Launch, token: str) -> subprocess.Popen[bytes]:
    """The running process, known to whoever watches. token: marks it and all that it brings.

    Raises TrainerFailure (no_start).
    """
    environment = {
        **_LAST_WORDS,
        **launch.environment,
        group.TOKEN_VARIABLE: token,
        "PYTHONUNBUFFERED": "1",
    }
    GUARD.watch(token)
    try:
        child = subprocess.Popen(
            launch.argv,
            cwd=launch.directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        GUARD.forget(token)
        raise TrainerFailure(Reason.NO_START, f"{launch.argv[0]}: {error.strerror}") from None
    GUARD.watch(token, child.pid)
    if launch.device is not None:
        launch.device.enter(child.pid)
    if launch.sampler is not None:
        launch.sampler.watch(launch.name, child.pid)
    return child
