"""What real trainers leave that hang, crash, are killed or run out of memory: enough to read what happened.

Each is asked by a level as any other, in a run whose results and page are then read: the outcome, the signal,
the last ten calls into core, the end of stderr, and the stacks where the runtime can print them. A trainer
is made to hang by a record file that is a pipe into which nobody writes.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from crew import EMBEDDED, Crew, Place
from hexapla.commands.participants import launch_of
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.run import Hooks, Participant, Run
from hexapla.levels.session import ContextChoice, Session
from hexapla.protocol import Event, Line, Outcome, Step
from hexapla.protocol.results import Header, ResultsWriter
from hexapla.report.write import write_reports

SILENCE_S = 2.0  # of one that hangs
PATIENCE_S = 60.0  # with one that dies: Go waits up to 5 s for the stacks of all its threads before it does
SHORT_BYTES = 9 << 20  # of device memory: more than the model needs, less than an update
Ask = Callable[[Session], None]

# What the runtime prints of its stacks, and a place in the trainer that was then at work.
STACKS = {
    "go": r"goroutine \d+ [\s\S]*main\.",
    "java": r"Full thread dump[\s\S]*at hexapla\.trainer\.",
    "python": r"most recent call first[\s\S]*hexapla_core/trainer/",
}
# The signal each ends by, and how it announces it; a virtual machine's stacks are in a file that it names.
CRASHES = {
    "c": ("SIGSEGV", ""),
    "go": ("SIG", r"SIGSEGV[\s\S]*goroutine \d+ "),
    "java": ("SIGABRT", r"SIGSEGV[\s\S]*hs_err_pid\d+\.log"),
    "python": ("SIGSEGV", r"Segmentation fault[\s\S]*most recent call first"),
}
SHORT = re.compile(rf"HXP_OUT_OF_MEMORY: need \d+ bytes, live \d+, limit {SHORT_BYTES}, live handles \d+")


@dataclass(frozen=True)
class PostMortem:
    """What is left: its line in the results, its stderr as the report keeps it, and the page."""

    line: Line
    stderr: str
    page: str

    def last_calls(self) -> list[str]:
        """The calls of the page's table, oldest first."""
        table = re.search(r"Last calls of request .*?</table>", self.page, re.DOTALL)
        return re.findall(r'data-name="call"><span>(\w+)<', table[0]) if table else []


class Dies(Level[None]):
    """A level that only asks. `asking` is given by the test."""

    name: ClassVar[str] = "trajectory"

    def __init__(self, asking: Ask) -> None:
        self._asking = asking

    def observe(self, session: Session, inputs: Inputs) -> None:
        self._asking(session)

    def judge(
        self, observed: Mapping[str, None], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        return {name: Finding(Outcome.PASS) for name in observed}


def post_mortem(
    crew: Crew, name: str, folder: Path, asking: Ask, silence_s: float = PATIENCE_S
) -> PostMortem:
    """Run it as a level; write the results and the page, and read them."""
    launch = replace(launch_of(crew.built(name), folder), silence_s=silence_s)
    session = Session(launch, ContextChoice("cpu:0", 1), lambda _name, _event: None)
    lines: list[Line] = []
    with ResultsWriter(folder, Header(implementations={name: {"stack": "core"}})) as writer:

        def keep(line: Line) -> None:
            lines.append(line)
            writer.write(line)

        hooks = Hooks(keep, lambda _name, _level: None, lambda _name, _level: None)
        inputs: Any = None
        run = Run([Participant(name, "core", {}, session)], inputs, hooks, lambda *_: "again")
        run.go_through([Dies(asking)])
        writer.finish(1.0)
    report = write_reports(folder)
    return PostMortem(lines[0], report.stderr[name], (folder / "report.html").read_text("utf-8"))


def training(place: Place, output: Path, at_step_2: Callable[[int], None], **context: Any) -> Ask:
    """A whole train request; behind step 2 something is done to the process."""

    def ask(session: Session) -> None:
        pid = session.running.pid

        def hear(event: Event) -> None:
            if isinstance(event, Step) and event.step == 2:
                at_step_2(pid)

        session.ask("train", "train", heard=hear, **place.train_keys(output, context=context))

    return ask


@pytest.mark.parametrize("name", ["c", *STACKS])
def test_one_that_hangs(crew: Crew, micro: Place, name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "records.jsonl")

    def ask(session: Session) -> None:
        session.ask("load", "load", context=None, model=str(EMBEDDED / "model"))
        keys = micro.train_keys(tmp_path / "output", train=str(tmp_path / "records.jsonl"))
        session.ask("train", "train", **keys)

    left = post_mortem(crew, name, tmp_path / "run", ask, SILENCE_S)
    assert left.line.outcome is Outcome.TIMED_OUT
    assert "no event, ledger record or CPU time for 2 s during train" in left.line.reason
    assert left.last_calls()
    if name in STACKS:
        assert f"its stacks are in stderr/{name}.log" in left.line.reason
        assert re.search(STACKS[name], left.stderr), left.stderr
        assert "End of its standard error" in left.page


@pytest.mark.parametrize("name", CRASHES)
def test_one_that_crashes(crew: Crew, micro: Place, name: str, tmp_path: Path) -> None:
    ask = training(micro, tmp_path / "output", lambda pid: os.kill(pid, signal.SIGSEGV))
    left = post_mortem(crew, name, tmp_path / "run", ask)
    named, words = CRASHES[name]
    assert left.line.outcome is Outcome.CRASHED
    assert f"ended by {named}" in left.line.reason and "during train" in left.line.reason
    assert "last core calls, in update " in left.line.reason
    assert len(left.last_calls()) == 10
    assert re.search(words, left.stderr), left.stderr
    report = re.search(r"\S+/hs_err_pid\d+\.log", left.stderr)
    if report is not None:
        stacks = Path(report[0])
        assert "Stack: " in stacks.read_text("utf-8", "replace")
        stacks.unlink()


@pytest.mark.parametrize("name", ["c", "go"])
def test_one_that_is_killed(crew: Crew, micro: Place, name: str, tmp_path: Path) -> None:
    ask = training(micro, tmp_path / "output", lambda pid: os.kill(pid, signal.SIGKILL))
    left = post_mortem(crew, name, tmp_path / "run", ask)
    assert left.line.outcome is Outcome.CRASHED
    assert "ended by SIGKILL during train; last core calls, in update " in left.line.reason
    assert len(left.last_calls()) == 10


@pytest.mark.parametrize("name", ["c", "go"])
def test_one_that_runs_out_of_device_memory(crew: Crew, micro: Place, name: str, tmp_path: Path) -> None:
    ask = training(micro, tmp_path / "output", lambda _pid: None, memory_limit=SHORT_BYTES)
    left = post_mortem(crew, name, tmp_path / "run", ask)
    assert left.line.outcome is Outcome.FAIL
    assert SHORT.search(left.line.reason), left.line.reason
    assert len(left.last_calls()) == 10
    assert "HXP_OUT_OF_MEMORY" in left.page
