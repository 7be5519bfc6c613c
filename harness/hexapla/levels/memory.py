"""Level `memory`: does the runtime see device memory?

Separate because a collector that counts its own heap only can train rightly and still need ten times the
device memory of C. Each implementation is held to itself (growth, limits, leavings, spills: `memory_trials`)
and to c (peak, smallest limit). Where c is not asked, its recorded baseline stands in for it and is named.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from hexapla.compare.bounds import Bound, Bounds
from hexapla.compare.growth import growth
from hexapla.compare.slowdown import Pace, Verdict
from hexapla.compare.trajectory import Trajectory
from hexapla.envelope.baseline import recorded_for
from hexapla.envelope.load import load_bounds
from hexapla.levels.account import Account
from hexapla.levels.checks import COLLECTED, Attempt, Checked, carry_out_all, conclude, require_core
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.memory_trials import Trials, few_heldout, left
from hexapla.levels.session import RequestSkipped, Session
from hexapla.protocol import Hello, Outcome
from hexapla.protocol.results import Figure

C = "c"
_NEEDED = ("memory_limit", "ledger", "train", "collector")
NOT_AVAILABLE = "not available"


@dataclass(frozen=True, slots=True)
class MemorySeen:
    """What one implementation showed: its run without a limit, and the tries of its checks.

    pace, pace_again: of that run, and of another one when that seemed slowed down by memory.
    """

    run: Trajectory
    account: Account
    checked: tuple[Checked, ...]
    pace: Verdict
    pace_again: Verdict | None = None

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures of all checks."""
        found: dict[str, Figure] = {}
        for check in self.checked:
            found |= check.attempts[0].figures
        return found


class Memory(Level[MemorySeen]):
    name: ClassVar[str] = "memory"
    stands_on: ClassVar[tuple[str, ...]] = ("operators",)

    def observe(self, session: Session, inputs: Inputs) -> MemorySeen:
        require_core(session)
        # The ledger's header counts the whole process: what levels before this one did would count too.
        session.close()
        hello = session.greet()
        lacking = [name for name in _NEEDED if name not in hello.capabilities]
        if lacking:
            # What it does not name is what it would answer so.
            raise RequestSkipped(f"its capabilities lack {', '.join(lacking)}")
        few = few_heldout(inputs, inputs.work / session.name / self.name)
        trials = Trials(session, few, collects(hello))
        run, account, pace = trials.plain()
        again = trials.plain()[2] if pace.pace is Pace.MEMORY_PRESSURE else None
        checked = carry_out_all(trials.checks(run, account)) if account.peak else ()
        return MemorySeen(run, account, checked, pace, again)

    def judge(
        self, observed: Mapping[str, MemorySeen], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        bounds = load_bounds("memory")
        yardstick = _c_figures(observed, inputs)
        return {name: _finding(name, seen, bounds, yardstick) for name, seen in observed.items()}


def collects(hello: Hello) -> bool:
    """Whether its runtime has a tracing collector: by its language, or by its own word (`cycles`)."""
    return hello.language.lower() in COLLECTED or "probe.cycles" in hello.capabilities


def _c_figures(observed: Mapping[str, MemorySeen], inputs: Inputs) -> Mapping[str, Figure]:
    """c's peak and smallest limit in this run, else as recorded for this specification, else nothing."""
    if C in observed:
        return observed[C].figures | {"device_bytes_peak": observed[C].account.peak or math.nan}
    baseline = recorded_for(inputs.spec, inputs.model)
    return baseline.figures(C) if baseline is not None else {}


def _finding(name: str, seen: MemorySeen, bounds: Bounds, c: Mapping[str, Figure]) -> Finding:
    checks = {
        "account": _account(seen),
        "growth": _growth(seen.account, bounds),
        "pace": _pace(seen),
        "peak_ratio_c": _ratio(seen.account.peak, c.get("device_bytes_peak"), bounds["peak_ratio_c"]),
    }
    collector = seen.figures.get("limit_bytes_smallest_collector")
    if collector is not None:
        least = c.get("limit_bytes_smallest")
        checks["collector_score"] = _ratio(collector, least, bounds["collector_score"])
    checked = [*(Checked(key, (attempt,)) for key, attempt in checks.items()), *seen.checked]
    unknown = [check for check in checked if check.outcome is Outcome.UNKNOWN]
    if any(check.attempts[0].unknown != _WITHOUT_C for check in unknown):
        return conclude(name, checked)
    # Without c there is no comparison with c: the figures say so, and nothing is held against it.
    finding = conclude(name, [check for check in checked if check not in unknown])
    left_out = {key: value for check in unknown for key, value in check.attempts[0].figures.items()}
    return replace(finding, figures={**left_out, **finding.figures})


def _account(seen: MemorySeen) -> Attempt:
    """The run without a limit: whole, counted, and nothing left."""
    account = seen.account
    if account.peak is None or not account.live:
        return Attempt(unknown="core's ledger shows no update")
    figures: dict[str, Figure] = {
        "device_bytes_peak": account.peak,
        "live_bytes_median": statistics.median(account.live.values()),
        "update_peak_bytes_median": statistics.median(account.peaks[update] for update in account.live),
    }
    if account.left_handles is not None:
        figures["handles_left"] = account.left_handles
    if seen.run.defects:
        return Attempt(str(seen.run.defects[0]), figures=figures)
    said = seen.run.done.values.get("device_bytes_peak") if seen.run.done else None
    if said != account.peak:
        return Attempt(f"it says a peak of {said} bytes, core's ledger {account.peak}", figures=figures)
    return Attempt(left(account), figures=figures)


def _growth(account: Account, bounds: Bounds) -> Attempt:
    """From update 2 on: the first one makes what lasts."""
    slope = growth({update: live for update, live in account.live.items() if update > 1})
    if slope is None:
        return Attempt(unknown="too few updates to see growth")
    bound = bounds["growth_bytes_per_update"]
    figures = {
        "growth_bytes_per_update": slope.slope,
        "growth_bytes_per_update_low": slope.low,
        "growth_bytes_per_update_high": slope.high,
    }
    if slope.within(bound.value):
        return Attempt(figures=figures)
    return Attempt(
        f"live device bytes grow by {slope.slope:,.0f} an update "
        f"(95 %: {slope.low:,.0f} to {slope.high:,.0f}), bound {bound.value:g}",
        figures=figures,
    )


def _pace(seen: MemorySeen) -> Attempt:
    """A slow-down that nobody asked for. A busy machine is no fault, nor is a run too short to tell.

    One that does not come again is the machine's: memory that is too small is too small every time.
    """
    verdict = seen.pace
    if verdict.pace is Pace.MEMORY_PRESSURE and seen.pace_again is not None:
        came_again = seen.pace_again.pace is Pace.MEMORY_PRESSURE
        verdict = verdict if came_again else replace(verdict, pace=Pace.NOISY)
    figures: dict[str, Figure] = {"pace": verdict.pace.value}
    if seen.account.spills:
        return Attempt(
            f"{seen.account.spills} copies to or from the host that nobody asked for", figures=figures
        )
    return Attempt(verdict.words if verdict.pace is Pace.MEMORY_PRESSURE else "", figures=figures)


def _ratio(own: Figure | None, of_c: Figure | None, bound: Bound) -> Attempt:
    if not isinstance(own, (int, float)) or not isinstance(of_c, (int, float)) or not of_c > 0:
        return Attempt(unknown=_WITHOUT_C, figures={bound.name: NOT_AVAILABLE})
    ratio = own / of_c
    figures: dict[str, Figure] = {bound.name: ratio, f"{bound.name}_bound": bound.value}
    if bound.holds(ratio):
        return Attempt(figures=figures)
    return Attempt(f"{bound.bounds}: {ratio:.3f} {bound.unit}, bound {bound.value:g}", figures=figures)


_WITHOUT_C = "c was not asked, and there is no baseline of it"
