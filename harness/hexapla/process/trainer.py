"""One trainer process: start it, ask it, watch it, end it.

Separate because the order of suspicion matters and is written down once: what the trainer said comes
before how it died, how it died before that it said nothing. Every failure ends the whole process
group and is one TrainerFailure; the caller never sees a hanging read or a half-read line.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hexapla.process import group
from hexapla.process.failure import TrainerFailure
from hexapla.process.pipes import Flood, Pipes
from hexapla.protocol import (
    VERSION,
    Bye,
    Done,
    Error,
    Event,
    Hello,
    LineError,
    Reason,
    SchemaError,
    Skipped,
    ledger,
    parse_event,
    parse_object,
    validate_event,
    validate_request,
    write_line,
)
from hexapla.protocol.order import Order, OrderError

_LEDGER_TAIL = 5
# A child that is just ending (a resource tracker, a shell's last command) is not "left behind".
_CHILD_GRACE_SECONDS = 1.0
# An idle virtual machine ticks; below this share of one core over the silent time, nothing happens.
_IDLE_CPU_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what a trainer may print, in bytes. A line's bound is PROTOCOL's."""

    line_bytes: int = 16 << 20
    stdout_bytes: int = 8 << 30
    stderr_bytes: int = 64 << 20


@dataclass(frozen=True)
class Launch:
    """How to start one implementation, and where its words go."""

    name: str
    argv: list[str]
    directory: Path
    environment: dict[str, str]
    language: str
    silence_s: float
    results: Path
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Answer:
    """A request's events, `progress` left out, its end apart, and the seconds it took."""

    events: list[Event]
    end: Done | Skipped | Error | Bye
    seconds: float


@dataclass
class _Open:
    """The request being answered."""

    id: str
    name: str
    order: Order
    file: IO[bytes]
    events: list[Event] = field(default_factory=list)
    end: Done | Skipped | Error | Bye | None = None


class Trainer:
    """A running trainer. Not thread-safe: one thread asks, others leave it alone."""

    def __init__(self, launch: Launch) -> None:
        """Start the process. Raises TrainerFailure (no_start)."""
        self.launch = launch
        self.failure: TrainerFailure | None = None
        self._token = uuid.uuid4().hex
        self._ended: set[str] = set()
        self._open: _Open | None = None
        self._on_event: Callable[[Event], None] | None = None
        self._ledger: Path | None = None
        self._exit_status = 0
        self._lines_seen = 0
        environment = {
            **launch.environment,
            group.TOKEN_VARIABLE: self._token,
            "PYTHONFAULTHANDLER": "1",
            "PYTHONUNBUFFERED": "1",
        }
        stderr_path = launch.results / "stderr" / f"{launch.name}.log"
        stderr_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._child = subprocess.Popen(
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
            raise TrainerFailure(Reason.NO_START, f"{launch.argv[0]}: {error.strerror}") from None
        limits = launch.limits
        self._pipes = Pipes(
            self._child,
            stderr_path,
            line_bytes=limits.line_bytes,
            stdout_bytes=limits.stdout_bytes,
            stderr_bytes=limits.stderr_bytes,
        )
        self._watch_from_now()

    @property
    def pid(self) -> int:
        return self._child.pid

    def hello(self, request_id: str = "hello") -> Hello | Skipped:
        """First request. Raises TrainerFailure (no_start, wrong_protocol, …)."""
        answer = self.ask("hello", request_id)
        if isinstance(answer.end, Skipped):
            return answer.end
        if isinstance(answer.end, Error):
            raise self._fail(Reason.WRONG_PROTOCOL, f"hello ended in error: {answer.end.message}")
        hello = answer.events[0]
        assert isinstance(hello, Hello)  # Order saw to it
        if hello.protocol != VERSION:
            raise self._fail(Reason.WRONG_PROTOCOL, f"it speaks protocol {hello.protocol}, not {VERSION}")
        return hello

    def ask(
        self, request: str, request_id: str, on_event: Callable[[Event], None] | None = None, **keys: Any
    ) -> Answer:
        """Send one request and read its events to the end. Raises TrainerFailure."""
        if self.failure is not None:
            raise self.failure
        message = {"protocol": VERSION, "id": request_id, "request": request, **keys}
        validate_request(message)
        ledger_path = message.get("context", {}).get("ledger")
        self._ledger = Path(ledger_path) if ledger_path else None
        events_path = self.launch.results / "events" / self.launch.name / f"{request_id}.jsonl"
        events_path.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        with events_path.open("wb") as file:
            try:
                self._guard(self._take_lines)  # words that came since the last end
                self._open = _Open(request_id, request, Order(message), file)
                self._on_event = on_event
                self._pipes.send(write_line(message))
                self._watch_from_now()
                while self._open.end is None:
                    self._guard(lambda: self._pipes.pump(self._patience()))
                    self._guard(self._take_lines)
                    self._check_alive()
                answer = Answer(self._open.events, self._open.end, time.monotonic() - started)
            finally:
                self._open = None
                self._on_event = None
        self._ended.add(request_id)
        return answer

    def close(self) -> Bye:
        """Say `bye`, wait for the exit, check its status and what was left. Raises TrainerFailure."""
        answer = self.ask("bye", "bye")
        self._pipes.close_stdin()
        self._watch_from_now()
        while not self._pipes.exited:
            self._guard(lambda: self._pipes.pump(self._patience()))
            self._guard(self._take_lines)
            self._check_silence()
        self._guard(self._take_lines)
        assert isinstance(answer.end, Bye)
        if answer.end.handles_live:
            self._exit_status = 3
        code = self._child.returncode
        if code < 0:
            raise self._fail(Reason.SIGNAL, f"after bye it ended by {_signal_name(code)}")
        if code != self._exit_status:
            raise self._fail(Reason.EXIT_STATUS, f"exit status {code}; its events say {self._exit_status}")
        self._check_children()
        self._pipes.close()
        return answer.end

    def kill(self) -> None:
        """End the process and all that it brought, at once. Safe to call twice."""
        group.kill(self._child.pid, self._token)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=5)
        self._pipes.close()

    def interrupt(self) -> None:
        """End the process and leave the pipes to the thread that reads them."""
        group.kill(self._child.pid, self._token)

    def _fail(self, reason: Reason, detail: str, *, stacks: bool = False) -> TrainerFailure:
        if self.failure is None:
            self.failure = TrainerFailure(reason, detail)
            if stacks:
                group.ask_for_stacks(self._child.pid, self.launch.language)
                with contextlib.suppress(Flood):
                    self._pipes.pump(0)
            self.kill()
        return self.failure

    def _guard(self, action: Callable[[], None]) -> None:
        """Run one step of reading; what it finds wrong becomes the failure."""
        try:
            action()
        except Flood as flood:
            reason = Reason.STDOUT_FLOOD if flood.stream == "stdout" else Reason.STDERR_FLOOD
            raise self._fail(reason, str(flood)) from None
        except LineError as error:
            raise self._fail(Reason.NOT_JSON, f"stdout line {self._lines_seen}: {error}") from None
        except SchemaError as error:
            raise self._fail(Reason.WRONG_PROTOCOL, f"stdout line {self._lines_seen}: {error}") from None
        except OrderError as error:
            raise self._fail(Reason.STEP_ORDER, f"stdout line {self._lines_seen}: {error}") from None

    def _take_lines(self) -> None:
        while self._pipes.lines:
            line = self._pipes.lines.popleft()
            self._lines_seen += 1
            if self._open is not None and self._open.end is None:
                self._open.file.write(line + b"\n")
                self._open.file.flush()
            self._last_sign = time.monotonic()
            self._take_event(parse_object(line))

    def _take_event(self, message: dict[str, Any]) -> None:
        current = self._open
        event_id = message.get("id")
        if event_id in self._ended or (current and current.end is not None and event_id == current.id):
            raise self._fail(
                Reason.AFTER_END, f"event {message.get('event')!r} for {event_id!r}, which had ended"
            )
        if current is None or event_id != current.id:
            raise self._fail(Reason.UNKNOWN_ID, f"event {message.get('event')!r} for id {event_id!r}")
        validate_event(message, current.name)
        event = parse_event(message)
        if current.order.accept(event):
            assert isinstance(event, Done | Skipped | Error | Bye)
            current.end = event
            if isinstance(event, Error):
                self._exit_status = max(self._exit_status, 1)
        elif message["event"] != "progress":
            current.events.append(event)
        if self._on_event is not None:
            self._on_event(event)

    def _check_alive(self) -> None:
        """Called after reading: an end that was said counts, whatever became of the process."""
        if self._open is None or self._open.end is not None:
            return
        if not self._pipes.exited:
            self._check_silence()
            return
        code = self._child.returncode
        if code < 0:
            raise self._fail(
                Reason.SIGNAL, f"ended by {_signal_name(code)} during {self._open.name}{self._tail()}"
            )
        if self._open.name == "hello" and self._lines_seen == 0:
            raise self._fail(
                Reason.NO_START, f"exit status {code} before the first event{self._stderr_tail()}"
            )
        raise self._fail(
            Reason.MISSING_END, f"exit status {code} before the end of {self._open.name}{self._stderr_tail()}"
        )

    def _watch_from_now(self) -> None:
        self._last_sign = time.monotonic()
        self._last_look = self._last_sign
        self._cpu_seen = 0.0
        self._records_seen = 0

    def _patience(self) -> float:
        return min(1.0, self.launch.silence_s / 4)

    def _check_silence(self) -> None:
        """PROTOCOL, "Silence": no event, no new ledger record, no CPU time, for silence_s."""
        now = time.monotonic()
        if now - self._last_look < self._patience():
            return
        self._last_look = now
        cpu = group.cpu_seconds(self._child.pid)
        header = ledger.read_header(self._ledger) if self._ledger else None
        records = header.records_written if header else 0
        if cpu - self._cpu_seen > _IDLE_CPU_SHARE * (now - self._last_sign) or records != self._records_seen:
            self._last_sign = now
            self._cpu_seen = cpu
            self._records_seen = records
        elif now - self._last_sign > self.launch.silence_s:
            doing = self._open.name if self._open else "its exit"
            detail = f"no event, ledger record or CPU time for {self.launch.silence_s:g} s during {doing}"
            raise self._fail(Reason.SILENCE, detail, stacks=True)

    def _check_children(self) -> None:
        deadline = time.monotonic() + _CHILD_GRACE_SECONDS
        while left := group.members(self._child.pid) + group.marked(self._token):
            if time.monotonic() > deadline:
                names = ", ".join(sorted({f"{process.pid}" for process in left}))
                raise self._fail(Reason.CHILD_LEFT, f"it ended and left process {names} running")
            time.sleep(0.05)

    def _tail(self) -> str:
        calls = ledger.last_calls(self._ledger, _LEDGER_TAIL) if self._ledger else []
        if not calls:
            return self._stderr_tail()
        shown = ", ".join(f"op {call.operation} status {call.status} update {call.update}" for call in calls)
        return f"; last core calls: {shown}"

    def _stderr_tail(self) -> str:
        path = self.launch.results / "stderr" / f"{self.launch.name}.log"
        with contextlib.suppress(OSError), path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
            lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
            if lines:
                return f"; stderr ends: {lines[-1].strip()[:200]}"
        return ""


def _signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
