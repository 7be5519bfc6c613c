"""The runtime levels, many times in a row, and a page that says how each time ended: `nox -s repeat`.

Every time is a `hexapla conform` of its own, with fresh processes, over all implementations that core drives.
Only a `pass` counts; `flaky`, a check that failed once and then held, does not. Separate from the tests
because it takes the better part of an hour. The page is written after every time, so that a series cut short
leaves what it saw and says that it is short.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from hexapla.data.files import write_atomically
from hexapla.protocol.results import Outcome, ResultsError, read_results

ROOT = Path(__file__).resolve().parents[1]
LEVELS = ("threads", "memory", "ownership", "errors")
IMPLEMENTATIONS = ("c", "go", "java", "native", "python", "rust", "zig")


def main() -> int:
    """0: every time, every implementation passed every level."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20, metavar="N", help="runs in a row (default 20)")
    parser.add_argument("--spec", default="micro", help="tiny or micro (default micro)")
    parser.add_argument(
        "--page", type=Path, default=ROOT / "docs/results/runtime.md", help="where the page goes"
    )
    arguments = parser.parse_args()
    if arguments.times < 1:
        parser.error(f"--times {arguments.times}: must be at least 1")
    series = Series(arguments.times, arguments.spec)
    for number in range(1, arguments.times + 1):
        print(f"{number} of {arguments.times}: {series.run()}", flush=True)
        write_atomically(arguments.page, series.page().encode())
    return 0 if series.good else 1


class Series:
    """What has been seen so far. `odd` holds a line for everything that was no pass."""

    def __init__(self, times: int, spec: str) -> None:
        self.times, self.spec, self.done = times, spec, 0
        self.started = datetime.now(UTC)
        self.commit = _commit()
        self.passes: Counter[tuple[str, str]] = Counter()
        self.seconds: list[float] = []
        self.odd: list[str] = []

    @property
    def words(self) -> list[str]:
        """The command of one time, results folder apart."""
        chosen = [word for name in IMPLEMENTATIONS for word in ("--binding", name)]
        asked = [word for level in LEVELS for word in ("--level", level)]
        return ["hexapla", "conform", "--spec", self.spec, "--references", "none", *chosen, *asked]

    @property
    def good(self) -> bool:
        """All times done, and nothing but passes."""
        return self.done == self.times and not self.odd

    def run(self) -> str:
        """One time; answers how it ended, in words."""
        begun = time.monotonic()
        self.done += 1
        with tempfile.TemporaryDirectory(prefix="hexapla-repeat-") as folder:
            results = Path(folder) / "results"
            ran = subprocess.run(
                [*self.words, "--results", str(results)], check=False, capture_output=True, text=True
            )
            odd = self._count(results, ran.returncode, ran.stderr)
        self.odd += [f"time {self.done}: {words}" for words in odd]
        self.seconds.append(time.monotonic() - begun)
        ended = "; ".join(odd) or f"{len(IMPLEMENTATIONS) * len(LEVELS)} pass"
        return f"{ended} ({self.seconds[-1]:.0f} s)"

    def _count(self, results: Path, status: int, stderr: str) -> list[str]:
        try:
            read = read_results(results)
        except (OSError, ResultsError) as error:
            return [f"no results ({error}); exit status {status}: {stderr.strip()[-300:]}"]
        odd = list(read.faults)
        seen = set()
        for line in read.lines:
            seen.add((line.implementation, line.level))
            if line.outcome is Outcome.PASS:
                self.passes[line.implementation, line.level] += 1
            else:
                odd.append(f"{line.implementation} at {line.level}: {line.outcome}: {line.reason}")
        asked = {(name, level) for name in IMPLEMENTATIONS for level in LEVELS}
        odd += [f"{name} at {level}: no result" for name, level in sorted(asked - seen)]
        if status and not odd:
            odd.append(f"exit status {status}")
        return odd

    def page(self) -> str:
        """The page, in Markdown."""
        end = "every one passed" if self.good else "NOT GOOD" if self.odd else "cut short"
        table = ["| level | " + " | ".join(IMPLEMENTATIONS) + " |", "|---" * (len(IMPLEMENTATIONS) + 1) + "|"]
        for level in LEVELS:
            counts = (f"{self.passes[name, level]} of {self.done}" for name in IMPLEMENTATIONS)
            table.append(f"| {level} | " + " | ".join(counts) + " |")
        odd = [f"- {words}" for words in self.odd] or [
            "Nothing else was seen: no fail, no flaky, no unknown."
        ]
        load = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
        return "\n".join(
            [
                "# The runtime levels, again and again",
                "",
                f"{self.done} of {self.times} times in a row: {end}. Written by `nox -s repeat`.",
                "",
                f"- begun {self.started.isoformat(timespec='seconds')}, commit {self.commit}, {load}",
                f"- one time: `{shlex.join(self.words)}`",
                f"- seconds a time: {min(self.seconds):.0f} to {max(self.seconds):.0f}",
                "",
                "Passes:",
                "",
                *table,
                "",
                *odd,
                "",
            ]
        )


def _commit() -> str:
    """The commit that is checked out, and whether files differ from it."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    told = subprocess.run(words, check=False, capture_output=True, text=True)
    return told.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
