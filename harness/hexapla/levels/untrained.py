"""Level `untrained`: are forward path and data pipeline the same? Held-out cross-entropy before step 1.

Separate from the trajectory because nothing has been learnt: a difference is in rendering, loading or the
forward pass, and it can be named by record. Asked twice, with the initial adapter and with none; B is
zero, so both must say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from hexapla.compare.untrained import judge_untrained
from hexapla.envelope.load import load_bounds
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.rendering import render
from hexapla.levels.session import Session
from hexapla.levels.settle import PairVerdict, pairs_of, same_core, settle
from hexapla.protocol import Evaluation, Outcome

PAIRED = "paired_tiny"
SAME_CORE = "core_bits"


@dataclass(frozen=True, slots=True)
class Untrained:
    """Both evaluations, and the labels and id of each accepted held-out record, in file order."""

    adapted: Evaluation
    base: Evaluation
    labels: list[int]
    records: list[str]


class UntrainedLevel(Level[Untrained]):
    name: ClassVar[str] = "untrained"
    stands_on: ClassVar[tuple[str, ...]] = ("loading", "rendering")

    def observe(self, session: Session, inputs: Inputs) -> Untrained:
        rendered = render(session, inputs, "untrained", inputs.heldout, inputs.spec["length"])
        accepted = {
            record.record: record.labels.count("1")
            for record in rendered.records
            if record.labels is not None
        }
        return Untrained(
            adapted=_evaluate(session, inputs, "evaluate", str(inputs.adapter)),
            base=_evaluate(session, inputs, "evaluate-base", None),
            labels=list(accepted.values()),
            records=list(accepted),
        )

    def judge(
        self, observed: Mapping[str, Untrained], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        pairs = [_pair(a, b, observed, same_core(a, b, stacks)) for a, b in pairs_of(list(observed))]
        findings = settle(list(observed), stacks, pairs)
        bound = load_bounds(PAIRED)["untrained_total_rel"]
        for name, seen in observed.items():
            finding = findings[name]
            figures = {"heldout_ce_nats": seen.adapted.loss, **finding.figures}
            findings[name] = replace(finding, figures=figures)
            apart = abs(seen.adapted.total - seen.base.total) / max(abs(seen.base.total), 1e-300)
            if finding.outcome is not Outcome.FAIL and not bound.holds(apart):
                reason = (
                    f"{name}: total {seen.adapted.total!r} with the initial adapter, {seen.base.total!r} "
                    f"without; B is zero, so they may differ by {bound.value:g} relative, not {apart:.3g}"
                )
                findings[name] = Finding(Outcome.FAIL, reason, "ambiguous", figures)
        return findings


def _evaluate(session: Session, inputs: Inputs, request_id: str, adapter: str | None) -> Evaluation:
    answer = session.ask(
        "evaluate",
        request_id,
        context=None,
        spec=inputs.spec.values,
        model=str(inputs.model),
        tokenizer=str(inputs.tokenizer),
        heldout=str(inputs.heldout),
        adapter=adapter,
    )
    evaluation = answer.events[0]
    assert isinstance(evaluation, Evaluation)  # protocol.order saw to it
    return evaluation


def _pair(a: str, b: str, observed: Mapping[str, Untrained], bits: bool) -> PairVerdict:
    bounds = load_bounds(SAME_CORE if bits else PAIRED)
    labels: list[int] | None = observed[b].labels
    records: list[str] | None = observed[b].records
    if len(observed[b].labels) != len(observed[a].adapted.record_nll):
        labels = records = None
    adapted = judge_untrained(
        observed[a].adapted, observed[b].adapted, (a, b), bounds, labels, records=records
    )
    if adapted.agree is not True:
        return PairVerdict(a, b, adapted.agree, adapted.reason, adapted.figures)
    base = judge_untrained(observed[a].base, observed[b].base, (a, b), bounds, labels, records=records)
    reason = f"without adapter: {base.reason}" if base.reason else ""
    return PairVerdict(a, b, base.agree, reason, adapted.figures)
