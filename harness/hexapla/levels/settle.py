"""From pairs that agree or part to a finding for each implementation.

Separate because every level compares side by side and all must blame alike: the odd one out fails, not
those it parts from; where nobody is odd alone, the side that is no reference fails and the axis is
ambiguous. Its input is verdicts on pairs, its numbers are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hexapla.compare.attribution import CORE, Agreement, Attribution, attribute
from hexapla.compare.statistics import reference_of
from hexapla.levels.level import Finding
from hexapla.protocol import Outcome
from hexapla.protocol.results import Figure


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """a held against b. `agree` None: the pair says nothing, `reason` why."""

    a: str
    b: str
    agree: bool | None
    reason: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)


def pairs_of(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """All pairs as (a, reference b), each once."""
    for index, one in enumerate(names):
        for other in names[index + 1 :]:
            yield reference_of(one, other)


def settle(
    names: Sequence[str], stacks: Mapping[str, str], pairs: Sequence[PairVerdict]
) -> dict[str, Finding]:
    """A finding for each name: fail for whom attribution points at, and for who parts from its reference."""
    attribution = attribute(stacks, [Agreement(pair.a, pair.b, pair.agree) for pair in pairs])
    return {name: _finding(name, pairs, attribution, stacks) for name in names}


def _finding(
    name: str, pairs: Sequence[PairVerdict], attribution: Attribution, stacks: Mapping[str, str]
) -> Finding:
    culprits = set(attribution.implementations)
    mine = [pair for pair in pairs if name in (pair.a, pair.b)]
    figures = next((pair.figures for pair in mine if pair.a == name and pair.figures), {})
    if name in culprits:
        parted = _worst(name, [pair for pair in mine if pair.agree is False], culprits)
        return _fail(parted, attribution, parted.figures or figures)
    # Who parts only from somebody already blamed has nothing to answer for.
    counted = [pair for pair in mine if not culprits & {pair.a, pair.b}]
    parted_from = [
        pair
        for pair in counted
        if pair.agree is False and pair.a == name and not _excused(name, pair.b, pairs, stacks)
    ]
    if parted_from:
        return _fail(parted_from[0], attribution, parted_from[0].figures)
    if any(pair.agree is not None for pair in counted):
        return Finding(Outcome.PASS, figures=figures)
    silent = next((pair.reason for pair in counted if pair.agree is None and pair.reason), "")
    return Finding(Outcome.UNKNOWN, silent or "nothing to compare with", figures=figures)


def _excused(name: str, other: str, pairs: Sequence[PairVerdict], stacks: Mapping[str, str]) -> bool:
    """A third stands with `name` and parts from `other`, and nobody stands with `other`: a neighbour that
    agrees with nobody cannot cost a good one its result. Against another stack a sibling on the same core
    is no third: both compute with the same arithmetic."""
    stands_against = _verdicts(name, pairs, True) & _verdicts(other, pairs, False)
    if not same_core(name, other, stacks):
        stands_against = {each for each in stands_against if not same_core(name, each, stacks)}
    return bool(stands_against) and not _verdicts(other, pairs, True)


def _verdicts(name: str, pairs: Sequence[PairVerdict], agree: bool) -> set[str]:
    """Who agrees with `name`, or parts from it."""
    mine = [pair for pair in pairs if name in (pair.a, pair.b) and pair.agree is agree]
    return {pair.b if pair.a == name else pair.a for pair in mine}


def _fail(pair: PairVerdict, attribution: Attribution, figures: Mapping[str, Figure]) -> Finding:
    return Finding(Outcome.FAIL, f"{pair.reason} [{attribution.words}]", attribution.axis.value, figures)


def _worst(name: str, parted: list[PairVerdict], culprits: set[str]) -> PairVerdict:
    """The pair whose words say most: against a reference first, and not against another culprit."""
    innocent = [pair for pair in parted if not (culprits - {name}) & {pair.a, pair.b}]
    ordered = sorted(innocent or parted, key=lambda pair: pair.a != name)
    return ordered[0]


def same_core(a: str, b: str, stacks: Mapping[str, str]) -> bool:
    """Both are driven by core, so that equal bits are the bound."""
    return stacks.get(a) == CORE and stacks.get(b) == CORE
