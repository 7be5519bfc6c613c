"""Level `checkpoint`: do saved adapters mean the same elsewhere, and does a resumed run go on?

Separate because it needs two rounds: everybody trains with and without an interruption, then everybody
resumes and evaluates what another one saved. It runs on a short form of the specification (`short_spec`):
what it asks does not depend on length, and a whole run each would cost more than all other levels.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from hexapla.compare.bounds import Yardsticks
from hexapla.compare.trajectory import Trajectory
from hexapla.compare.verdict import judge
from hexapla.envelope.load import load_bounds
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.session import RequestFailed, Session
from hexapla.levels.settle import same_core
from hexapla.levels.training import Leg, checkpoint_folder, shortened, train
from hexapla.levels.untrained import PAIRED, SAME_CORE
from hexapla.protocol import Evaluation, Outcome
from hexapla.spec import Spec

_UPDATES = 6
_STOP = 3
PEFT = "torch"  # the implementation that loads adapters through PEFT


@dataclass(frozen=True)
class Saved:
    """What one implementation did. `foreign`: resumed from the checkpoint of the implementation named;
    `evaluated`: that one's final adapter evaluated here, or the words of a refusal."""

    whole: Trajectory
    stopped: Trajectory
    resumed: Trajectory
    folder: Path
    foreign: Mapping[str, Trajectory | str] = field(default_factory=dict)
    evaluated: Mapping[str, Evaluation | str] = field(default_factory=dict)


def short_spec(spec: Spec) -> Spec:
    """The same specification over a few updates, saved halfway and at the end."""
    updates = min(_UPDATES, int(spec["updates"]))
    return shortened(spec, updates, save_every=max(1, updates // 2))


class CheckpointLevel(Level[Saved]):
    name: ClassVar[str] = "checkpoint"
    stands_on: ClassVar[tuple[str, ...]] = ("trajectory",)
    rounds: ClassVar[int] = 2

    def observe(self, session: Session, inputs: Inputs) -> Saved:
        spec = short_spec(inputs.spec)
        updates, stop = int(spec["updates"]), int(spec["save_every"])
        folder = inputs.work / session.name / "checkpoint"
        shutil.rmtree(folder, ignore_errors=True)
        whole = train(session, inputs, spec, _leg(folder / "whole", (1, updates))).run
        stopped = train(session, inputs, spec, _leg(folder / "stopped", (1, stop), stop_after=stop)).run
        saved = checkpoint_folder(folder / "stopped", stop)
        leg = _leg(folder / "resumed", (stop + 1, updates), resume_from=saved)
        resumed = train(session, inputs, spec, leg).run
        return Saved(whole, stopped, resumed, folder)

    def observe_again(
        self, session: Session, inputs: Inputs, own: Saved, observed: Mapping[str, Saved]
    ) -> Saved:
        spec = short_spec(inputs.spec)
        updates, stop = int(spec["updates"]), int(spec["save_every"])
        foreign: dict[str, Trajectory | str] = {}
        evaluated: dict[str, Evaluation | str] = {}
        partner = next_of(session.name, list(observed))
        if partner is not None:
            saved = checkpoint_folder(observed[partner].folder / "stopped", stop)
            leg = _leg(own.folder / f"resumed-{partner}", (stop + 1, updates), resume_from=saved)
            try:
                foreign[partner] = train(session, inputs, spec, leg).run
            except RequestFailed as refused:
                foreign[partner] = str(refused)
        for other in _evaluates(session.name, list(observed)):
            adapter = checkpoint_folder(observed[other].folder / "whole", updates)
            try:
                evaluated[other] = _evaluate(session, inputs, spec, adapter, other)
            except RequestFailed as refused:
                evaluated[other] = str(refused)
        return replace(own, foreign=foreign, evaluated=evaluated)

    def judge(
        self, observed: Mapping[str, Saved], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        spec = short_spec(inputs.spec)
        stop = int(spec["save_every"])
        findings = {}
        for name, saved in observed.items():
            problems = [
                *_interruption(name, saved, stop),
                *_foreign(name, saved, stacks, stop),
                *_adapters(name, saved, observed),
            ]
            figures = {
                "resumed_foreign": len(saved.foreign),
                "adapters_evaluated": len(saved.evaluated),
                "updates": int(spec["updates"]),
            }
            if problems:
                axis, reason = problems[0]
                findings[name] = Finding(Outcome.FAIL, f"{name}: {reason}", axis, figures)
            else:
                findings[name] = Finding(Outcome.PASS, figures=figures)
        return findings


def _leg(output: Path, updates: tuple[int, int], **other: Any) -> Leg:
    return Leg(f"checkpoint-{output.name}", output, updates, **other)


def next_of(name: str, names: list[str]) -> str | None:
    """The next one in the ring of all that got this far: each checkpoint is resumed by somebody else."""
    others = names[names.index(name) + 1 :] + names[: names.index(name)] if name in names else names
    return others[0] if others else None


def _evaluates(name: str, names: list[str]) -> list[str]:
    """PEFT loads everybody's adapter, everybody loads PEFT's, and each its partner's."""
    if name == PEFT:
        return [other for other in names if other != name]
    chosen = {next_of(name, names), PEFT} - {None}
    return [other for other in names if other in chosen]


def _evaluate(session: Session, inputs: Inputs, spec: Spec, adapter: Path, other: str) -> Evaluation:
    answer = session.ask(
        "evaluate",
        f"checkpoint-evaluate-{other}",
        context=None,
        spec=spec.values,
        model=str(inputs.model),
        tokenizer=str(inputs.tokenizer),
        heldout=str(inputs.heldout),
        adapter=str(adapter),
    )
    evaluation = answer.events[0]
    assert isinstance(evaluation, Evaluation)  # protocol.order saw to it
    return evaluation


def after(run: Trajectory, stop: int) -> Trajectory:
    """The part of a run behind update `stop`."""
    return replace(
        run,
        steps={k: each for k, each in run.steps.items() if k > stop},
        evaluations={k: each for k, each in run.evaluations.items() if k > stop},
        checkpoints={k: each for k, each in run.checkpoints.items() if k > stop},
    )


Problem = tuple[str, str]


def _interruption(name: str, saved: Saved, stop: int) -> Iterator[Problem]:
    """The same implementation: stop, save, resume must equal no interruption, bit for bit, whoever it is."""
    yardsticks = Yardsticks(load_bounds(SAME_CORE))
    before = replace(
        saved.whole,
        steps={k: each for k, each in saved.whole.steps.items() if k <= stop},
        evaluations={k: each for k, each in saved.whole.evaluations.items() if k <= stop},
        checkpoints={k: each for k, each in saved.whole.checkpoints.items() if k <= stop},
    )
    for part, run, words in (
        (before, saved.stopped, f"stopped at update {stop}"),
        (after(saved.whole, stop), saved.resumed, f"resumed from its own checkpoint at update {stop}"),
    ):
        verdict = judge(
            replace(run, implementation=f"{name} {words}"),
            replace(part, implementation=f"{name} uninterrupted"),
            yardsticks,
            bits=True,
        )
        if verdict.agree is not True:
            yield "orchestration", verdict.reason or f"{words}: nothing to compare"


def _foreign(name: str, saved: Saved, stacks: Mapping[str, str], stop: int) -> Iterator[Problem]:
    """Another's checkpoint must lead where one's own run led: equal bits on the same core, else bounds."""
    for other, run in saved.foreign.items():
        if isinstance(run, str):
            yield "ambiguous", f"resuming {other}'s checkpoint: {run}"
            continue
        bits = same_core(name, other, stacks)
        verdict = judge(
            replace(run, implementation=f"{name} resumed from {other}'s checkpoint"),
            replace(after(saved.whole, stop), implementation=f"{name} uninterrupted"),
            Yardsticks(load_bounds(SAME_CORE if bits else PAIRED)),
            bits=bits,
        )
        if verdict.agree is not True:
            yield "ambiguous", verdict.reason or f"{other}'s checkpoint: nothing to compare"


def _adapters(name: str, saved: Saved, observed: Mapping[str, Saved]) -> Iterator[Problem]:
    """Another's adapter must give here the held-out loss that it gave there."""
    bound = load_bounds(PAIRED)["heldout_ce_rel_max"]
    for other, evaluation in saved.evaluated.items():
        if isinstance(evaluation, str):
            yield "ambiguous", f"evaluating {other}'s adapter: {evaluation}"
            continue
        there = observed[other].whole.evaluations
        right = there[max(there)]
        if evaluation.adapter_digest != right.adapter_digest:
            yield "ambiguous", f"{other}'s adapter has another digest here than there"
            continue
        apart = abs(evaluation.loss - right.loss) / abs(right.loss)
        if not bound.holds(apart):
            yield (
                "ambiguous",
                f"{other}'s adapter gives held-out CE {evaluation.loss!r} here, {right.loss!r} there: "
                f"{apart:.3g} relative, bound {bound.value:g}",
            )
