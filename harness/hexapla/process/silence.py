"""PROTOCOL's "Silence": no event, no new ledger record and no CPU time, for `silence_s`.

Separate because everything else that takes long is work, and only here is it decided which it is.
"""

from __future__ import annotations

import time
from pathlib import Path

from hexapla.process import group
from hexapla.protocol import ledger

# An idle virtual machine ticks; below this share of one core over the silent time, nothing happens.
_IDLE_CPU_SHARE = 0.01


class Silence:
    """Watches one session for signs of work."""

    def __init__(self, session: int, silence_s: float) -> None:
        self.silence_s = silence_s
        self.patience_s = min(1.0, silence_s / 4)
        self._session = session
        self.watch_from_now()

    def watch_from_now(self) -> None:
        """Nothing that happened before counts."""
        self._last_sign = self._last_look = time.monotonic()
        self._cpu_seen = 0.0
        self._records_seen = 0

    def heard(self) -> None:
        """An event came."""
        self._last_sign = time.monotonic()

    def too_long(self, ledger_path: Path | None) -> bool:
        """Look for work, at most once in `patience_s`; True after `silence_s` without any."""
        now = time.monotonic()
        if now - self._last_look < self.patience_s:
            return False
        self._last_look = now
        cpu = group.cpu_seconds(self._session)
        header = ledger.read_header(ledger_path) if ledger_path else None
        records = header.records_written if header else 0
        idle = cpu - self._cpu_seen <= _IDLE_CPU_SHARE * (now - self._last_sign)
        if not idle or records != self._records_seen:
            self._last_sign = now
            self._cpu_seen = cpu
            self._records_seen = records
            return False
        return now - self._last_sign > self.silence_s
