"""Running one build command, and the two ways in which a build can end badly.

Separate because core and bindings are built by the same rules: output into a log, a bound on the time,
the first error line as the message.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

from hexapla.process.group import TOKEN_VARIABLE, kill
from hexapla.process.guard import GUARD

_BUILD_SECONDS_MAX = 1800


class BuildError(Exception):
    """A build that failed; the text is its first error line, `log` the whole output."""

    def __init__(self, text: str, log: Path) -> None:
        super().__init__(text)
        self.log = log


class ToolchainMissing(Exception):
    """A tool that the manifest needs is not there: the implementation is skipped, by name."""


def run_logged(argv: list[str], folder: Path, environment: dict[str, str], output: int, log: Path) -> None:
    """Run one build command, output to an open log. Raises BuildError with the log's first error line."""
    os.write(output, f"$ {' '.join(argv)}\n".encode())
    token = uuid.uuid4().hex
    GUARD.watch(token)
    try:
        run = subprocess.run(
            argv,
            cwd=folder,
            env={**environment, TOKEN_VARIABLE: token},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=_BUILD_SECONDS_MAX,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{argv[0]}: {error.strerror}", log) from None
    except subprocess.TimeoutExpired:
        raise BuildError(f"{argv[0]} ran for more than {_BUILD_SECONDS_MAX} s", log) from None
    finally:
        kill(0, token)  # the compilers that a build tool started, if it ended or was ended before them
        GUARD.forget(token)
    if run.returncode != 0:
        raise BuildError(f"{_first_error(log) or argv[0]} (exit status {run.returncode}; log {log})", log)


def _first_error(log: Path) -> str:
    """The first line that says error, else the first that is no heading: Go names no error as such."""
    lines = [line.strip()[:300] for line in log.read_text("utf-8", "replace").splitlines()]
    said = [line for line in lines if line and not line.startswith(("$ ", "# "))]
    return next((line for line in said if "error" in line.lower()), said[0] if said else "")
