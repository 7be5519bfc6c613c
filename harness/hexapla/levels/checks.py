"""Checks of a running program: one try each, five more when it fails, and a finding from all of them.

Separate because threads, memory, ownership and errors share how such a check ends: schedulers and collectors
choose, so that one failure may not come again. Mixed tries are `flaky`, what ran without showing anything is
`unknown`, and what the trainer did not answer is `skipped`, so that its level is no pass. Only where the
contract says that a language may lack a thing is its word taken, and the check `not-applicable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hexapla.levels.level import CheckFinding, Finding, NotApplicable
from hexapla.levels.session import RequestFailed, RequestSkipped, Session
from hexapla.protocol import Outcome, Probe
from hexapla.protocol.results import Figure

RERUNS = 5

COLLECTED = frozenset(
    {"c#", "go", "java", "javascript", "julia", "kotlin", "ocaml", "python", "ruby", "typescript"}
)
"""Languages, in lower case, that are known to have a tracing collector, and finalisers with it."""

# What a language may lack (docs/probes.md), and the languages that are known not to.
_MAY_LACK: Mapping[str, frozenset[str]] = {
    "finaliser_race": COLLECTED,
    "callback_throws": COLLECTED | {"c++", "rust", "zig"},
}

Seen = Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a check. At most one of the four texts is given; with none of them it held.

    `problem`: what is wrong; `unknown`: it ran and showed nothing; `absent`: there is no such thing, so that
    nothing could be asked; `unanswered`: it was asked, and the trainer answered `skipped`.
    """

    problem: str = ""
    unknown: str = ""
    absent: str = ""
    unanswered: str = ""
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
        if first.unanswered:
            return Outcome.SKIPPED
        return Outcome.UNKNOWN if first.unknown else Outcome.PASS

    @property
    def finding(self) -> CheckFinding:
        first = self.attempts[0]
        failed = [attempt for attempt in self.attempts if attempt.problem]
        if failed:
            again = f" ({len(failed)} of {len(self.attempts)} tries)" if len(self.attempts) > 1 else ""
            return CheckFinding(self.name, self.outcome, f"{failed[0].problem}{again}")
        return CheckFinding(self.name, self.outcome, first.unknown or first.absent or first.unanswered)

    @property
    def words(self) -> str:
        """What to say of it; "" when it held, or could not be asked."""
        quiet = self.outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE)
        return "" if quiet else f"{self.name}: {self.finding.words}"


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
    except NotApplicable as reason:
        return Attempt(absent=str(reason))
    except RequestSkipped as skipped:
        return Attempt(unanswered=str(skipped))
    except RequestFailed as failed:
        return Attempt(problem=str(failed))


_WORST_FIRST = (
    Outcome.FAIL,
    Outcome.FLAKY,
    Outcome.UNEXPECTED_PASS,
    Outcome.UNKNOWN,
    Outcome.SKIPPED,
    Outcome.EXPECTED_FAIL,
)
_RUNTIME = frozenset({Outcome.FAIL, Outcome.FLAKY, Outcome.EXPECTED_FAIL})


def conclude(name: str, checked: Sequence[Checked]) -> Finding:
    """One finding: the worst outcome, the words of everything that did not hold, all figures.

    Figures name each check that is not applicable or was not answered, so that nobody takes it for passed.
    """
    figures: dict[str, Figure] = {}
    for check in checked:
        figures |= check.attempts[0].figures
        if check.outcome in (Outcome.NOT_APPLICABLE, Outcome.SKIPPED):
            figures[f"{check.name}_{check.outcome.replace('-', '_')}"] = 1
    figures["checks_passed"] = sum(check.outcome is Outcome.PASS for check in checked)
    return _weigh(name, [check.finding for check in checked], figures)


def expect(name: str, finding: Finding, expected: Mapping[str, str]) -> Finding:
    """The same finding where some of its checks are known to fail. expected: check → why.

    Each check is held to its own line alone: what else failed stays a failure, and one that passes is said.
    """
    if not any(check.name in expected for check in finding.checks):
        return finding
    checks = [_expected(check, expected.get(check.name)) for check in finding.checks]
    known = {f"{check.name}_expected_fail": 1 for check in checks if check.outcome is Outcome.EXPECTED_FAIL}
    return _weigh(name, checks, {**finding.figures, **known})


def _expected(check: CheckFinding, why: str | None) -> CheckFinding:
    if why is not None and check.outcome is Outcome.FAIL:
        return replace(check, outcome=Outcome.EXPECTED_FAIL, words=f"{why} ({check.words})")
    if why is not None and check.outcome is Outcome.PASS:
        words = f"passes, though binding.toml expects: {why}"
        return replace(check, outcome=Outcome.UNEXPECTED_PASS, words=words)
    return check


def _weigh(name: str, checks: Sequence[CheckFinding], figures: Mapping[str, Figure]) -> Finding:
    unexpected = [check for check in checks if check.outcome is Outcome.UNEXPECTED_PASS]
    for outcome in _WORST_FIRST:
        found = [check for check in checks if check.outcome is outcome]
        if found:
            # A line to be removed from a manifest is said beside whatever is worse.
            shown = found if outcome is Outcome.UNEXPECTED_PASS else [*found, *unexpected]
            axis = "runtime" if outcome in _RUNTIME else "none"
            return Finding(outcome, f"{name}: {_in_words(shown)}", axis, figures, tuple(checks))
    if not any(check.outcome is Outcome.PASS for check in checks):
        return Finding(Outcome.NOT_APPLICABLE, _in_words(checks), figures=figures, checks=tuple(checks))
    return Finding(Outcome.PASS, figures=figures, checks=tuple(checks))


def _in_words(checks: Iterable[CheckFinding]) -> str:
    """Each check with its words; those that say the same together."""
    names: dict[str, list[str]] = {}
    for check in checks:
        names.setdefault(check.words, []).append(check.name)
    return "; ".join(f"{', '.join(those)}: {words}" for words, those in names.items())


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
    """Have one scenario of docs/probes.md played. `context`: keys in which it is not the run's choice.

    Raises NotApplicable where it is skipped for something that the language may lack, and what Session.ask
    raises.
    """
    try:
        answer = session.ask(
            "probe",
            f"probe-{scenario}",
            context=context,
            scenario=scenario,
            parameters=dict(parameters or {}),
        )
    except RequestSkipped as skipped:
        if scenario in _MAY_LACK and session.greet().language.lower() not in _MAY_LACK[scenario]:
            raise NotApplicable(str(skipped)) from None
        raise
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
