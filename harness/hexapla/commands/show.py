"""What a run shows while it goes: bars on a terminal, plain lines elsewhere.

Separate so that nothing else asks whether this is a terminal. Shows only: the table at
the end is report's, made from the results on disk.
"""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from hexapla.protocol import Event, Line, Outcome, Step
from hexapla.protocol import Progress as ProgressEvent

_STYLES = {
    Outcome.PASS: "green",
    Outcome.EXPECTED_FAIL: "green",
    Outcome.SKIPPED: "yellow",
    Outcome.NOT_APPLICABLE: "dim",
    Outcome.BLOCKED: "magenta",
    Outcome.UNKNOWN: "yellow",
}


class Show:
    """Called from several threads; every method may be."""

    def __init__(self, to_stderr: bool = False) -> None:
        self.console = Console(highlight=False, soft_wrap=True, stderr=to_stderr)
        self._bars = Progress(
            TextColumn("{task.fields[name]:>10} {task.fields[level]:12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._lock = threading.Lock()
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Show:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def say(self, text: str) -> None:
        """One plain line. Whoever reads it may have gone, or be full: the run goes on."""
        with contextlib.suppress(OSError):
            self.console.print(text, markup=False)

    def begin(self, name: str, level: str) -> None:
        with self._lock:
            self._tasks[name] = self._bars.add_task("", total=None, name=name, level=level, unit="")
        if not self.console.is_terminal:
            self.say(f"{level}: {name} …")

    def end(self, name: str, level: str) -> None:
        with self._lock:
            task = self._tasks.pop(name, None)
            if task is not None:
                self._bars.remove_task(task)

    def event(self, name: str, event: Event) -> None:
        """Move a bar by what a trainer says of its progress."""
        task = self._tasks.get(name)
        if task is None:
            return
        if isinstance(event, ProgressEvent):
            self._bars.update(task, completed=event.done, total=event.total or None, unit=event.unit)
        elif isinstance(event, Step):
            self._bars.update(task, completed=event.step, unit="updates")

    def line(self, line: Line) -> None:
        """One result; a failure with its reason and the command that reruns it."""
        text = Text(f"{line.level}: {line.implementation}: ")
        text.append(line.outcome.value, style=_STYLES.get(line.outcome, "bold red"))
        if line.outcome is Outcome.PASS:
            text.append(f" ({line.seconds:.1f} s)")
        else:
            text.append(f": {line.reason}" if line.reason else "")
            if line.axis != "none":
                text.append(f"\n    axis: {line.axis}")
        if line.outcome not in _STYLES:
            text.append(f"\n    again: {line.repeat}")
        with contextlib.suppress(OSError):
            self.console.print(text)
