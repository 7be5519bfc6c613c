"""One trainer process: start it, ask it, watch it, end it.

Separate because the order of suspicion matters and is written down once: what the trainer said comes
before how it died, how it died before that it said nothing. Every failure ends the whole process
group and is one TrainerFailure; the caller never sees a hanging read or a half-read line.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapla.process import group
from hexapla.process.failure import TrainerFailure
from hexapla.process.faults import unmeant_faults
from hexapla.process.guard import GUARD
from hexapla.process.hearing import Asked, Hearing
from hexapla.process.launch import Launch
from hexapla.process.pipes import Flood, Pipes
from hexapla.process.postmortem import last_calls, last_words, signal_name, stderr_end
from hexapla.process.silence import Silence
from hexapla.process.spawn import spawn
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
    validate_request,
    write_line,
)
from hexapla.protocol.events import event_name
from hexapla.protocol.order import Order, OrderError

# A child that is just ending (a resource tracker, a shell's last command) is not "left behind", nor is
# device memory that is just being given back.
_GRACE_SECONDS = 1.0
# What a runtime gets to print its stacks in before SIGKILL.
_STACKS_SECONDS = 1.0
# What a process gets to die in behind a line that is no event.
_DYING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A request's events, `progress` left out, its end apart, the seconds it took, its context's ledger."""

    events: list[Event]
    end: Done | Skipped | Error | Bye
    seconds: float
    ledger: Path | None = None


class Trainer:
    """A running trainer. Not thread-safe: one thread asks, others leave it alone."""

    def __init__(self, launch: Launch) -> None:
        """Start the process. Raises TrainerFailure (no_start, device_not_released)."""
        self.launch = launch
        self.failure: TrainerFailure | None = None
        self._token = uuid.uuid4().hex
        self._hearing = Hearing(launch.events_folder)
        self._ledger: Path | None = None
        if launch.device is not None:
            held = launch.device.wait_for_start(launch.silence_s)
            if held:
                raise TrainerFailure(Reason.DEVICE_NOT_RELEASED, f"not started: {held}")
        launch.stderr_path.parent.mkdir(parents=True, exist_ok=True)
        launch.events_folder.mkdir(parents=True, exist_ok=True)
        self._child = spawn(launch, self._token)
        limits = launch.limits
        self._pipes = Pipes(
            self._child,
            launch.stderr_path,
            line_bytes=limits.line_bytes,
            stdout_bytes=limits.stdout_bytes,
            stderr_bytes=limits.stderr_bytes,
        )
        self._silence = Silence(self._child.pid, launch.silence_s)

    @property
    def pid(self) -> int:
        return self._child.pid

    def hello(self, request_id: str = "hello") -> Hello | Skipped:
        """First request. Raises TrainerFailure (no_start, wrong_protocol, faulty_core, …)."""
        answer = self.ask("hello", request_id)
        if isinstance(answer.end, Skipped):
            return answer.end
        if isinstance(answer.end, Error):
            raise self._fail(Reason.WRONG_PROTOCOL, f"hello ended in error: {answer.end.message}")
        hello = answer.events[0]
        assert isinstance(hello, Hello)  # Order saw to it
        if hello.protocol != VERSION:
            raise self._fail(Reason.WRONG_PROTOCOL, f"it speaks protocol {hello.protocol}, not {VERSION}")
        problem = unmeant_faults(hello, self.launch.core_fault)
        if problem:
            raise self._fail(Reason.FAULTY_CORE, problem)
        return hello

    def ask(
        self, request: str, request_id: str, on_event: Callable[[Event], None] | None = None, **keys: Any
    ) -> Answer:
        """Send one request and read its events to the end. Raises TrainerFailure.

        Once the input has ended only `bye` can be asked: nothing is sent, and its event has the id "".
        """
        if self.failure is not None:
            raise self.failure
        message = {"protocol": VERSION, "id": request_id, "request": request, **keys}
        validate_request(message)
        ledger_path = message.get("context", {}).get("ledger")
        self._ledger = Path(ledger_path) if ledger_path else None
        if self.launch.sampler is not None:
            self.launch.sampler.ledger(self._child.pid, self._ledger)
        started = time.monotonic()
        with (self.launch.events_folder / f"{request_id or 'bye'}.jsonl").open("wb") as file:
            try:
                if not self._hearing.input_ended:
                    self._guard(self._hear)  # words that came since the last end
                asked = self._hearing.asked = Asked(request_id, request, Order(message), file, on_event)
                if not self._hearing.input_ended:
                    self._pipes.send(write_line(message))
                self._silence.watch_from_now()
                while asked.end is None:
                    self._guard(lambda: self._pipes.pump(self._silence.patience_s))
                    self._guard(self._hear)
                    self._check_alive()
                answer = Answer(asked.events, asked.end, time.monotonic() - started, self._ledger)
            except OSError:  # our own disk is full: nobody's failure but ours, and nobody must be left
                self.kill()
                raise
            finally:
                self._hearing.asked = None
        self._hearing.over(request_id)
        return answer

    def close(self) -> Bye:
        """Say `bye`, wait for the exit, check its status and what was left. Raises TrainerFailure."""
        if self.launch.device is not None:
            self.launch.device.ending(self._child.pid)
        answer = self.ask("bye", "" if self._hearing.input_ended else "bye")
        self._pipes.close_stdin()
        self._silence.watch_from_now()
        while not self._pipes.exited:
            self._guard(lambda: self._pipes.pump(self._silence.patience_s))
            self._guard(self._hear)
            self._check_silence()
        self._guard(self._hear)
        if not isinstance(answer.end, Bye):
            raise self._fail(Reason.MISSING_END, f"bye was answered by {event_name(answer.end)}, not by bye")
        meant = 3 if answer.end.handles_live else self._hearing.exit_status
        code = self._child.returncode
        if code < 0:
            raise self._fail(Reason.SIGNAL, f"after bye it ended by {signal_name(code)}")
        if code != meant:
            raise self._fail(Reason.EXIT_STATUS, f"exit status {code}; its events say {meant}")
        held = self._leave_device(_GRACE_SECONDS)
        if held:
            raise self._fail(Reason.DEVICE_NOT_RELEASED, f"it ended and {held}")
        self._check_children()
        self._let_go()
        return answer.end

    def end_input(self) -> None:
        """Close stdin while a request runs: a run stops before its next update, and `bye` follows unasked."""
        self._hearing.input_ended = True
        self._pipes.close_stdin()
        if self._hearing.asked is not None:
            self._hearing.asked.order.input_ended()

    def pause(self, seconds: float) -> Callable[[], bool]:
        """Stop the process for `seconds`, beginning now; what is returned says whether it stood still."""
        return group.pause(self._child.pid, seconds)

    def kill(self) -> None:
        """End the process and all that it brought, at once. Safe to call twice."""
        group.kill(self._child.pid, self._token)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=5)
        self._let_go()

    def interrupt(self) -> None:
        """End the process and leave the pipes to the thread that reads them."""
        group.kill(self._child.pid, self._token)

    def _let_go(self) -> None:
        self._pipes.close()
        GUARD.forget(self._token)
        if self.launch.sampler is not None:
            self.launch.sampler.forget(self._child.pid)
        self._leave_device(0)

    def _leave_device(self, seconds: float) -> str:
        device = self.launch.device
        return device.leave(self._child.pid, seconds) if device is not None else ""

    def _fail(self, reason: Reason, detail: str, *, stacks: bool = False) -> TrainerFailure:
        if self.failure is None:
            if stacks and group.ask_for_stacks(self._child.pid, self.launch.language):
                self._pipes.pump_into_log(_STACKS_SECONDS)
                detail += f"; its stacks are in stderr/{self.launch.name}.log"
            self.failure = TrainerFailure(reason, detail)
            self.kill()
        return self.failure

    def _hear(self) -> None:
        if self._hearing.take(self._pipes.lines):
            self._silence.heard()

    def _guard(self, action: Callable[[], None]) -> None:
        """Run one step of reading; what it finds wrong becomes the failure."""
        try:
            action()
        except Flood as flood:
            reason = Reason.STDOUT_FLOOD if flood.stream == "stdout" else Reason.STDERR_FLOOD
            raise self._fail(reason, str(flood)) from None
        except LineError as error:
            raise self._not_json(f"{self._hearing.place}: {error}") from None
        except SchemaError as error:
            raise self._fail(Reason.WRONG_PROTOCOL, f"{self._hearing.place}: {error}") from None
        except OrderError as error:
            raise self._fail(Reason.STEP_ORDER, f"{self._hearing.place}: {error}") from None
        except TrainerFailure as failure:
            raise self._fail(failure.reason, failure.detail) from None

    def _not_json(self, words: str) -> TrainerFailure:
        """A line that is no event. Where the process dies right behind it, that was news of its death, which
        a Java virtual machine prints to stdout."""
        self._pipes.pump_into_log(_DYING_SECONDS)
        code = self._child.returncode if self._pipes.exited else 0
        if code < 0:
            asked = self._hearing.asked
            doing = f"during {asked.name}" if asked else "between requests"
            detail = f"ended by {signal_name(code)} {doing}{last_calls(self._ledger)}; {words}"
            return self._fail(Reason.SIGNAL, detail)
        return self._fail(Reason.NOT_JSON, words)

    def _check_alive(self) -> None:
        """Called after reading: an end that was said counts, whatever became of the process."""
        asked = self._hearing.asked
        if asked is None or asked.end is not None:
            return
        if not self._pipes.exited:
            self._check_silence()
            return
        code = self._child.returncode
        name, stderr = asked.name, self.launch.stderr_path
        if code < 0:
            words = last_words(self._ledger, stderr)
            raise self._fail(Reason.SIGNAL, f"ended by {signal_name(code)} during {name}{words}")
        words = last_calls(self._ledger) + stderr_end(stderr)
        if name == "hello" and self._hearing.lines_seen == 0:
            raise self._fail(Reason.NO_START, f"exit status {code} before the first event{words}")
        raise self._fail(Reason.MISSING_END, f"exit status {code} before the end of {name}{words}")

    def _check_silence(self) -> None:
        asked = self._hearing.asked
        doing = asked.name if asked else "its exit"
        if self._silence.too_long(self._ledger):
            detail = f"no event, ledger record or CPU time for {self.launch.silence_s:g} s during {doing}"
            raise self._fail(Reason.SILENCE, detail + last_calls(self._ledger), stacks=True)
        closed = self._pipes.stdout_closed_s
        if asked is not None and closed > self.launch.silence_s:
            detail = f"stdout closed {closed:.0f} s ago during {doing}, and it works on"
            raise self._fail(Reason.MISSING_END, detail, stacks=True)

    def _check_children(self) -> None:
        deadline = time.monotonic() + _GRACE_SECONDS
        while left := group.left(self._child.pid, self._token):
            if time.monotonic() > deadline:
                pids = ", ".join(str(process.pid) for process in left)
                raise self._fail(Reason.CHILD_LEFT, f"it ended and left process {pids} running")
            time.sleep(0.05)
