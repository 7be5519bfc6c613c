"""Runs beside the harness, as a script, and ends what the harness started once the harness is gone.

Separate because it must outlive a harness that was killed, and start in a few milliseconds: it imports
nothing but the standard library. Standard input is a pipe whose other end the kernel closes with the
harness, however that ended. Its lines: `+ TOKEN SESSION` to watch, `- TOKEN 0` to forget; session 0 is not
known yet. A process is found by its session and, where there is a /proc, by the token in its environment.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path

# A process that was forked but not yet executed carries no token: look until nothing is found any more.
CLEAN_SWEEPS = 3
SWEEP_SECONDS = 0.1
SWEEPS_MAX = 100


def main() -> None:
    variable = sys.argv[1]
    watched: dict[str, int] = {}
    for line in sys.stdin:
        sign, token, session = line.split()
        if sign == "+":
            watched[token] = int(session)
        else:
            watched.pop(token, None)
    marks = {f"{variable}={token}".encode() for token in watched}
    sessions = set(watched.values()) - {0}
    clean = 0
    for _ in range(SWEEPS_MAX if watched else 0):
        clean = 0 if sweep(marks, sessions) else clean + 1
        if clean == CLEAN_SWEEPS:
            return
        time.sleep(SWEEP_SECONDS)


def sweep(marks: set[bytes], sessions: Collection[int]) -> bool:
    """Kill what is watched; True when something was there."""
    found = False
    for session in sessions:
        with contextlib.suppress(OSError):
            os.killpg(session, signal.SIGKILL)
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            pid = int(folder.name)
            marked = not marks.isdisjoint((folder / "environ").read_bytes().split(b"\0"))
            zombie = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
            if not zombie and (marked or os.getsid(pid) in sessions):
                os.kill(pid, signal.SIGKILL)
                found = True
    return found


if __name__ == "__main__":
    main()
