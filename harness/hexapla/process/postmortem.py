"""What a dead trainer leaves to read: its last core calls, the end of its stderr, the signal's name.

Separate because it is words for a reason and nothing is decided by them.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from hexapla.protocol import ledger

_CALLS = 10
_STDERR_BYTES = 2000
_LINE_CHARACTERS = 200


def last_words(ledger_path: Path | None, stderr_path: Path) -> str:
    """The last calls into core where there are any, else the last line of stderr; begins with "; "."""
    return last_calls(ledger_path) or stderr_end(stderr_path)


def last_calls(ledger_path: Path | None) -> str:
    """The last ten calls, oldest first, those that failed with their status."""
    calls = ledger.last_calls(ledger_path, _CALLS) if ledger_path else []
    if not calls:
        return ""
    return f"; last core calls, in update {calls[-1].update}: {', '.join(map(_call, calls))}"


def stderr_end(path: Path) -> str:
    """The last line that is not blank."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _STDERR_BYTES))
        lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            return f"; stderr ends: {lines[-1].strip()[:_LINE_CHARACTERS]}"
    return ""


def signal_name(returncode: int) -> str:
    """The signal behind a negative return code."""
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def _call(call: ledger.Call) -> str:
    name = ledger.OPERATIONS.get(call.operation, f"operation {call.operation}")
    if call.status == 0:
        return name
    known = call.status < len(ledger.STATUSES)
    return f"{name} ({ledger.STATUSES[call.status] if known else f'status {call.status}'})"
