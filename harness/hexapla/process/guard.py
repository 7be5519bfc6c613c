"""Tells a guard process what to end in case this process is killed.

Separate because a killed harness can do nothing any more, and because PR_SET_PDEATHSIG would reach no
grandchild and fires when the thread that forked ends. The guard is started with the first thing to watch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from hexapla.process import group

_SCRIPT = Path(__file__).with_name("guard_process.py")


class Guard:
    """One for this process; any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, token: str, session: int = 0) -> None:
        """End what carries the token, and the session where it is known, if this process dies."""
        with self._lock:
            self._watched[token] = session
            self._tell(f"+ {token} {session}\n")

    def forget(self, token: str) -> None:
        """What carried the token has ended."""
        with self._lock:
            if self._watched.pop(token, None) is not None:
                self._tell(f"- {token} 0\n")

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()
            line = "".join(f"+ {token} {session}\n" for token, session in self._watched.items())
        assert self._process is not None and self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), line.encode())
        except BrokenPipeError:
            self._process = None  # it was killed between the look and the word: the next word starts another

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT), group.TOKEN_VARIABLE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )


GUARD = Guard()
