"""Level `ownership`: can two owners hold one tensor, and is everything given back on every path?

Separate because its answers come twice: from what a scenario saw, and from core's ledger, which names the
fault, the operation and the update whatever the scenario said. The leaks of `release: collector` in languages
without a collector are meant, and are not asked for here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from hexapla.levels.checks import (
    Attempt,
    Checked,
    Seen,
    Try,
    carry_out_all,
    conclude,
    probe,
    require_core,
    wrong,
)
from hexapla.levels.diagnosis import Fault, FaultKind
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.ownership_runs import Runs, faults_in, held
from hexapla.levels.session import Session
from hexapla.levels.training import Leg, shortened, train
from hexapla.protocol import Bye, Done, Event, Step
from hexapla.spec import Spec

_REPEATS = 3  # the fault of case C1 may show only at the second or third
_ORDERS = 120
_CLOSE_ROUNDS = 1000
_FINALISER_ROUNDS = 2000
_UPDATES_CUT_SHORT = 12  # enough that closing stdin during the first is in time

Judge = Callable[[Seen], str]
"""What is wrong with a scenario's figures, in words; "" when nothing is."""


def judge_values(value: str) -> Judge:
    """Cases C1 and C2: the tensor holds `value`, and every release was an owner's first."""
    return lambda seen: wrong(seen, value=value, statuses="HXP_OK")


def judge_status(status: str) -> Judge:
    return lambda seen: wrong(seen, status=status)


def judge_orders(seen: Seen) -> str:
    return wrong(seen, orders=_ORDERS, failed=0)


def judge_close_race(seen: Seen) -> str:
    """A read beside a close succeeds or says that the handle is stale."""
    words = wrong(seen, rounds=_CLOSE_ROUNDS, wrong=0)
    others = set(str(seen.get("statuses", "")).split(",")) - {"HXP_OK", "HXP_STALE_HANDLE"}
    return words or (f"a read ended in {', '.join(sorted(others)) or 'nothing'}" if others else "")


def judge_finaliser_race(seen: Seen) -> str:
    return wrong(seen, rounds=_FINALISER_ROUNDS, wrong=0, statuses="HXP_OK")


SCENARIOS: Mapping[str, tuple[Mapping[str, Any], Judge]] = {
    "accessors": ({"repeats": _REPEATS}, judge_values("1 2 3 4")),
    "copies": ({"repeats": _REPEATS}, judge_values("2 3 4 5")),
    "drop_orders": ({"seed": 1, "orders": _ORDERS}, judge_orders),
    "double_release": ({}, judge_status("HXP_STALE_HANDLE")),
    "use_after_release": ({}, judge_status("HXP_STALE_HANDLE")),
    "release_elsewhere": ({}, judge_status("HXP_OK")),
    "close_race": ({"rounds": _CLOSE_ROUNDS}, judge_close_race),
    "finaliser_race": ({"rounds": _FINALISER_ROUNDS}, judge_finaliser_race),
}

# What a scenario does wrong on purpose, so that the ledger may name it.
_MEANT = {
    "double_release": {FaultKind.DOUBLE_RELEASE},
    "use_after_release": {FaultKind.USE_AFTER_RELEASE},
    "close_race": {FaultKind.USE_AFTER_RELEASE, FaultKind.EARLY_FINALISER},
}


class Ownership(Level[tuple[Checked, ...]]):
    name: ClassVar[str] = "ownership"
    stands_on: ClassVar[tuple[str, ...]] = ("abi",)

    def observe(self, session: Session, inputs: Inputs) -> tuple[Checked, ...]:
        require_core(session)
        folder = inputs.work / session.name / "ownership"
        checks: dict[str, Try] = {
            scenario: partial(play, session, scenario, parameters, judge)
            for scenario, (parameters, judge) in SCENARIOS.items()
        }
        runs = Runs(session, inputs, folder)
        checks |= {"run_ends": runs.ends, "run_refused": runs.refused, "run_fails": runs.fails}
        checked = carry_out_all(checks)
        # Said once: it speaks of the process that went through all of the above.
        bye = Checked("bye", (judge_bye(session.close()),))
        long = shortened(inputs.spec, _UPDATES_CUT_SHORT, save_every=_UPDATES_CUT_SHORT)
        input_ends = partial(_input_ends, session, inputs, long, folder / "input-ends")
        return (*checked, bye, *carry_out_all({"input_ends": input_ends}))

    def judge(
        self, observed: Mapping[str, tuple[Checked, ...]], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        return {name: conclude(name, checked) for name, checked in observed.items()}


def judge_bye(bye: Bye | None) -> Attempt:
    """Live handles and bytes at the end, as core counts them."""
    if bye is None or bye.handles_live is None or bye.bytes_live is None:
        return Attempt(unknown="no count of live handles and bytes at bye")
    figures = {"handles_live_at_bye": bye.handles_live, "live_bytes_at_bye": bye.bytes_live}
    if bye.handles_live or bye.bytes_live:
        words = f"{bye.handles_live} handles and {bye.bytes_live} bytes live at bye"
        return Attempt(problem=words, figures=figures)
    return Attempt(figures=figures)


def named(faults: list[Fault], kind: FaultKind) -> str:
    """What is wrong where the ledger does not show a fault that was made on purpose, by raw ids."""
    return "" if any(fault.kind is kind for fault in faults) else f"the ledger shows no {kind}"


def play(session: Session, scenario: str, parameters: Mapping[str, Any], judge: Judge) -> Attempt:
    """Have a scenario played and hold its figures and its ledger to what they must be."""
    probed = probe(session, scenario, parameters)
    faults, words = faults_in(probed.ledger), judge(probed.seen)
    if scenario == "double_release" and probed.ledger is not None:
        words = words or named(faults, FaultKind.DOUBLE_RELEASE)
    return held(words, faults, _MEANT.get(scenario, set()))


def judge_input_end(done: Done, heard: list[int], bye: Bye | None) -> Attempt:
    """heard: the updates that were said, in order."""
    if done.values.get("stopped") is not True:
        return Attempt(
            unknown=f"it had trained all {len(heard)} updates before it could see the end of input"
        )
    return judge_bye(bye)


def _input_ends(session: Session, inputs: Inputs, spec: Spec, output: Path) -> Attempt:
    """Closing stdin stops a run before its next update, with everything given back."""
    trainer = session.running
    heard: list[int] = []

    def end_input(event: Event) -> None:
        if isinstance(event, Step):
            heard.append(event.step)
            if event.step == 1:
                trainer.end_input()

    leg = Leg("ownership-input", output, (1, int(spec["updates"])))
    run = train(session, inputs, spec, leg, end_input).run
    bye = session.close()
    return judge_input_end(run.done, heard, bye) if run.done else Attempt(problem="it ended without done")
