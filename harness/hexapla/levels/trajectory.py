"""Level `trajectory`: do they learn the same thing? A whole training run, compared update by update.

Separate because it is the expensive one. The statistics, bounds and words are compare's and envelope's;
this file asks for the run, forms the pairs and adds what only one run can say of itself.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from hexapla.compare.bounds import Yardsticks
from hexapla.compare.trajectory import Trajectory
from hexapla.compare.verdict import judge
from hexapla.envelope.load import load_bounds
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.session import Session
from hexapla.levels.settle import PairVerdict, pairs_of, same_core, settle
from hexapla.levels.untrained import PAIRED, SAME_CORE
from hexapla.protocol.results import Figure


class TrajectoryLevel(Level[Trajectory]):
    name: ClassVar[str] = "trajectory"
    stands_on: ClassVar[tuple[str, ...]] = ("operators", "untrained")

    def observe(self, session: Session, inputs: Inputs) -> Trajectory:
        output = inputs.work / session.name / "train"
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        answer = session.ask(
            "train",
            "train",
            context=None,
            spec=inputs.spec.values,
            spec_digest=inputs.spec.digest,
            model=str(inputs.model),
            tokenizer=str(inputs.tokenizer),
            train=str(inputs.train),
            heldout=str(inputs.heldout),
            adapter=str(inputs.adapter),
            output=str(output),
            resume_from=None,
            stop_after=None,
            schedule="pinned",
            release="explicit",
        )
        updates = (1, int(inputs.spec["updates"]))
        return Trajectory.from_parsed(session.name, [*answer.events, answer.end], updates)

    def judge(
        self, observed: Mapping[str, Trajectory], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        yardsticks = {bits: Yardsticks(load_bounds(SAME_CORE if bits else PAIRED)) for bits in (True, False)}
        pairs = []
        for a, b in pairs_of(list(observed)):
            bits = same_core(a, b, stacks)
            verdict = judge(observed[a], observed[b], yardsticks[bits], bits=bits)
            pairs.append(PairVerdict(a, b, verdict.agree, verdict.reason, verdict.figures))
        findings = settle(list(observed), stacks, pairs)
        return {
            name: replace(finding, figures={**_own_figures(observed[name]), **finding.figures})
            for name, finding in findings.items()
        }


def _own_figures(run: Trajectory) -> dict[str, Figure]:
    """What a run says without another beside it. Times in milliseconds, memory in bytes."""
    figures: dict[str, Figure] = {"updates": len(run.steps)}
    if run.steps:
        figures["step_ms_median"] = statistics.median(step.milliseconds for step in run.steps.values())
    if run.evaluations:
        figures["heldout_ce_nats_end"] = run.evaluations[max(run.evaluations)].loss
    peak = run.done.values.get("device_bytes_peak") if run.done else None
    if peak is not None:
        figures["device_bytes_peak"] = peak
    return figures
