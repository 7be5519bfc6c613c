"""Checks of a running program: one try each, five more when it fails, and a finding from all of them.

Separate because threads, ownership and errors share how such a check ends: schedulers and collectors choose,
so that one failure may not come again. Mixed tries are `flaky`, a scenario that the language has not is
counted and never passed, and what ran without showing anything is `unknown`. It asks nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexapla.levels.level import Finding, NotApplicable
from hexapla.levels.session import RequestFailed, RequestSkipped, Session
from hexapla.protocol import Outcome, Probe
from hexapla.protocol.results import Figure

RERUNS = 5

Seen = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a check. At most one of the three texts is given; with none of them it held.

    `problem`: what is wrong; `unknown`: it ran and showed nothing; `absent`: the language has no such thing.
    """

    problem: str = ""
    unknown: str = ""
    absent: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checked:
    """All tries of one check, the first one first."""

    name: str
    attempts: tuple[Attempt, ...]

    @property
    def outcome(self) -> Outcome:
        first = self.attempts[0]
        failed = [attempt for attempt in self.attempts if attempt.problem]
        if failed:
            return Outcome.FAIL if len(failed) == len(self.attempts) else Outcome.FLAKY
        if first.absent:
            return Outcome.NOT_APPLICABLE
        return Outcome.UNKNOWN if first.unknown else Outcome.PASS

    @property
    def words(self) -> str:
        """What to say of it; "" when it held."""
        first = self.attempts[0]
        failed = [attempt for attempt in self.attempts if attempt.problem]
        if not failed:
            return first.unknown and f"{self.name}: {first.unknown}"
        again = f" ({len(failed)} of {len(self.attempts)} tries)" if len(self.attempts) > 1 else ""
        return f"{self.name}: {failed[0].problem}{again}"


Try = Callable[[], Attempt]


def carry_out(name: str, once: Try) -> Checked:
    """Try; where it fails, try five times more. Raises what Session.ask raises, refusals apart."""
    first = _attempt(once)
    again = [_attempt(once) for _ in range(RERUNS)] if first.problem else []
    return Checked(name, (first, *again))


def carry_out_all(checks: Mapping[str, Try]) -> tuple[Checked, ...]:
    """All of them, in order; one that fails keeps none from being tried."""
    return tuple(carry_out(name, once) for name, once in checks.items())


def _attempt(once: Try) -> Attempt:
    try:
        return once()
    except RequestSkipped as skipped:
        return Attempt(absent=str(skipped))
    except RequestFailed as failed:
        return Attempt(problem=str(failed))


_WORST_FIRST = (Outcome.FAIL, Outcome.FLAKY, Outcome.UNKNOWN)


def conclude(name: str, checked: Sequence[Checked]) -> Finding:
    """One finding: the worst outcome, the words of everything that did not hold, all figures.

    Figures name each check that is not applicable, so that nobody takes it for passed.
    """
    figures: dict[str, Figure] = {}
    for check in checked:
        figures |= check.attempts[0].figures
        if check.outcome is Outcome.NOT_APPLICABLE:
            figures[f"{check.name}_not_applicable"] = 1
    figures["checks_passed"] = sum(check.outcome is Outcome.PASS for check in checked)
    for outcome in _WORST_FIRST:
        words = [check.words for check in checked if check.outcome is outcome]
        if words:
            axis = "none" if outcome is Outcome.UNKNOWN else "runtime"
            return Finding(outcome, f"{name}: {'; '.join(words)}", axis, figures)
    if not figures["checks_passed"]:
        return Finding(Outcome.NOT_APPLICABLE, "; ".join(_absent(checked)), figures=figures)
    return Finding(Outcome.PASS, figures=figures)


def _absent(checked: Sequence[Checked]) -> list[str]:
    return [f"{check.name}: {check.attempts[0].absent}" for check in checked]


@dataclass(frozen=True, slots=True)
class Probed:
    """What a scenario showed, and the ledger of its contexts."""

    seen: Seen
    ledger: Path | None


def probe(
    session: Session,
    scenario: str,
    parameters: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
) -> Probed:
    """Have one scenario of docs/probes.md played. `context`: keys in which it is not the run's choice."""
    answer = session.ask(
        "probe", f"probe-{scenario}", context=context, scenario=scenario, parameters=dict(parameters or {})
    )
    event = answer.events[0]
    assert isinstance(event, Probe)  # protocol.order saw to it
    return Probed(event.seen, answer.ledger)


def wrong(seen: Seen, **right: float | str) -> str:
    """The figures that are missing or not the right ones, in words; "" when all are right."""
    return ", ".join(
        f"{name} is {seen.get(name, 'absent')!r}, not {value!r}"
        for name, value in right.items()
        if seen.get(name) != value
    )


def require_core(session: Session) -> None:
    """Raises NotApplicable for an implementation that core does not drive."""
    if session.greet().core is None:
        raise NotApplicable("core does not drive it")
