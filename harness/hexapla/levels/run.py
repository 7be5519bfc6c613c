"""One run: every chosen level over every implementation, in order, results written as they come.

Separate from the levels so that blocking, expected failures, processes that die and the words of a
process failure are treated alike whatever the question was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hexapla.levels.checks import expect
from hexapla.levels.level import AnyLevel, Finding, Inputs, NotApplicable
from hexapla.levels.session import HelloFailed, RequestFailed, RequestSkipped, Session
from hexapla.process import TrainerFailure
from hexapla.protocol import Line, Outcome

# What makes a level useless to stand on. An expected failure is known, and what follows it still runs.
_BLOCKING = frozenset({Outcome.FAIL, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.BLOCKED, Outcome.FLAKY})


@dataclass
class Participant:
    """One implementation. `session` is None when it could not be prepared; `unready` then says why.

    `expected_failures`: level or check → reason, as in its manifest.
    """

    name: str
    stack: str
    expected_failures: Mapping[str, str]
    session: Session | None
    unready: Finding | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hooks:
    """Who wants to know: `line` gets each result, `begin` and `end` each observation."""

    line: Callable[[Line], None]
    begin: Callable[[str, str], None]
    end: Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class _Observation:
    """What observing gave: an answer, or a finding that stands in its place."""

    answer: Any = None
    finding: Finding | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """Participants, what they are given, who listens, and `jobs`: how many are asked at once.

    `repeat` makes the command that reruns one implementation at one level.
    """

    participants: Sequence[Participant]
    inputs: Inputs
    hooks: Hooks
    repeat: Callable[[str, str], str]
    jobs: int = 1

    def go_through(self, levels: Sequence[AnyLevel]) -> None:
        """All levels in the order given."""
        last = len(levels) - 1
        try:
            with ThreadPoolExecutor(max_workers=self.jobs) as pool:
                try:
                    for index, level in enumerate(levels):
                        seen = list(pool.map(partial(self._observe, level), self.participants))
                        if level.rounds > 1:
                            again = partial(self._observe_again, level, self._answers(seen))
                            seen = list(pool.map(again, self.participants, seen))
                        if index == last:
                            seen = list(pool.map(self._close, self.participants, seen))
                        self._judge(level, seen)
                except BaseException:
                    # The pool waits for its threads, and they wait for trainers.
                    for participant in self.participants:
                        if participant.session is not None:
                            participant.session.interrupt()
                    raise
        finally:
            for participant in self.participants:
                if participant.session is not None:
                    participant.session.abandon()

    def _observe(self, level: AnyLevel, participant: Participant) -> _Observation:
        early = _not_asked(level, participant)
        if early is not None or participant.session is None:
            return _Observation(finding=early)
        self.hooks.begin(participant.name, level.name)
        started = time.monotonic()
        observe = partial(level.observe, participant.session, self.inputs)
        return self._timed(level, participant, started, observe)

    def _observe_again(
        self, level: AnyLevel, answers: Mapping[str, Any], participant: Participant, first: _Observation
    ) -> _Observation:
        if first.finding is not None or participant.session is None:
            return first
        self.hooks.begin(participant.name, level.name)
        started = time.monotonic() - first.seconds
        again = partial(level.observe_again, participant.session, self.inputs, first.answer, answers)
        return self._timed(level, participant, started, again)

    def _timed(
        self, level: AnyLevel, participant: Participant, started: float, observe: Callable[[], Any]
    ) -> _Observation:
        answer, finding = self._ask(participant, observe)
        self.hooks.end(participant.name, level.name)
        return _Observation(answer, finding, time.monotonic() - started)

    def _close(self, participant: Participant, seen: _Observation) -> _Observation:
        """Say bye. How a process ends belongs to what it was asked last; what failed before counts more."""
        if participant.session is None:
            return seen
        try:
            participant.session.close()
        except TrainerFailure as failure:
            if seen.finding is None or seen.finding.outcome in (Outcome.SKIPPED, Outcome.NOT_APPLICABLE):
                return replace(seen, finding=_of_failure(participant.name, failure))
        return seen

    def _ask(self, participant: Participant, observe: Callable[[], Any]) -> tuple[Any, Finding | None]:
        try:
            return observe(), None
        except NotApplicable as reason:
            return None, _of_no_meaning(participant, reason)
        except RequestSkipped as skipped:
            return None, Finding(Outcome.SKIPPED, str(skipped))
        except RequestFailed as failed:
            return None, Finding(Outcome.FAIL, f"{participant.name}: {failed}", "ambiguous")
        except HelloFailed as failed:
            participant.session = None
            participant.unready = Finding(
                Outcome.BLOCKED, f"it did not get past hello: {failed.failure.reason}"
            )
            return None, _of_failure(participant.name, failed.failure)
        except TrainerFailure as failure:
            return None, _of_failure(participant.name, failure)

    def _answers(self, observations: Sequence[_Observation]) -> dict[str, Any]:
        pairs = zip(self.participants, observations, strict=True)
        return {each.name: seen.answer for each, seen in pairs if seen.finding is None}

    def _judge(self, level: AnyLevel, observations: Sequence[_Observation]) -> None:
        seen = dict(zip((each.name for each in self.participants), observations, strict=True))
        answers = self._answers(observations)
        stacks = {participant.name: participant.stack for participant in self.participants}
        judged = level.judge(answers, stacks, self.inputs) if answers else {}
        for participant in self.participants:
            name = participant.name
            finding = _expected(level.name, participant, seen[name].finding or judged[name])
            if participant.unready is not None and participant.unready.outcome is Outcome.FAIL:
                # A build that failed fails the first level; those behind it never had a chance.
                participant.unready = Finding(Outcome.BLOCKED, f"never ready: {finding.reason}")
            participant.outcomes[level.name] = finding.outcome
            self.hooks.line(
                Line(
                    implementation=name,
                    axis=finding.axis,
                    level=level.name,
                    outcome=finding.outcome,
                    reason=finding.reason,
                    figures=finding.figures,
                    seconds=round(seen[name].seconds, 3),
                    repeat=self.repeat(name, level.name),
                )
            )


def _not_asked(level: AnyLevel, participant: Participant) -> Finding | None:
    if participant.unready is not None:
        return participant.unready
    blocking = [name for name in level.stands_on if participant.outcomes.get(name) in _BLOCKING]
    if blocking:
        return Finding(Outcome.BLOCKED, f"stands on {', '.join(blocking)}")
    return None


def _of_no_meaning(participant: Participant, reason: NotApplicable) -> Finding:
    """Of a stub, what core would be asked through it has a meaning: nobody has answered it yet."""
    hello = participant.session.hello if participant.session is not None else None
    if participant.stack == "core" and hello is not None and hello.core is None:
        return Finding(Outcome.SKIPPED, "its manifest says core, its hello that it has none yet")
    return Finding(Outcome.NOT_APPLICABLE, str(reason))


def _of_failure(name: str, failure: TrainerFailure) -> Finding:
    axis = "runtime" if failure.outcome is Outcome.CRASHED else "ambiguous"
    return Finding(failure.outcome, f"{failure.reason}: {name}: {failure.detail}", axis)


def _expected(level: str, participant: Participant, finding: Finding) -> Finding:
    """Check by check first; what then still is a failure or a pass is held to the level's own line."""
    finding = expect(participant.name, finding, participant.expected_failures)
    why = participant.expected_failures.get(level)
    if why is None:
        return finding
    if finding.outcome is Outcome.FAIL:
        return replace(finding, outcome=Outcome.EXPECTED_FAIL, reason=f"{why} ({finding.reason})")
    if finding.outcome is Outcome.PASS:
        return replace(finding, outcome=Outcome.UNEXPECTED_PASS, reason=f"binding.toml expects: {why}")
    return finding
