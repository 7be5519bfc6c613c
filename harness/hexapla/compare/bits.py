"""The first field of the first update in which two runs are not bit for bit the same.

Separate from the bounds because core-driven trainers have none: the same core must give the same bits, so
the question is not how much but where first. Fields stand in the order in which an update makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hexapla.compare.trajectory import Trajectory
from hexapla.protocol.events import float_bits

_STEP_FIELDS = (
    "epoch",
    "records",
    "tokens",
    "labels",
    "batch_digest",
    "loss_bits",
    "gradient_norm_bits",
    "clipped",
    "learning_rate_bits",
)
_EVALUATION_FIELDS = ("adapter", "labels", "adapter_digest")
_TOTAL_FIELDS = ("total_bits", "loss_bits")
_CHECKPOINT_FIELDS = ("adapter_digest", "optimizer_digest")
_VALUES = {
    "loss_bits": "loss",
    "gradient_norm_bits": "gradient_norm",
    "total_bits": "total",
    "learning_rate_bits": "learning_rate",
}


@dataclass(frozen=True)
class Parting:
    """Where two runs part: update, field (`record_nll[7]` for a record), both values as words."""

    update: int
    field: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"update {self.update}: {self.field} is {self.a}, not {self.b}"


def first_parting(a: Trajectory, b: Trajectory) -> Parting | None:
    """None when everything that both runs report is the same, bit for bit."""
    updates = sorted(a.steps.keys() | b.steps.keys() | a.evaluations.keys() | b.evaluations.keys())
    for update in updates:
        parting = next(_partings(a, b, update), None)
        if parting is not None:
            return parting
    return None


def parted(run: Trajectory, whole: Trajectory, name: str) -> str:
    """Where a run parts from another of the same implementation, called `name`, in words; "" for nowhere.

    A defect of either is said first: a run that is short has not kept its bits.
    """
    for each, words in ((whole, name), (run, "the run")):
        if each.defects:
            return f"{words}: {each.defects[0]}"
    parting = first_parting(run, whole)
    return "" if parting is None else f"{parting} as in {name}"


def _partings(a: Trajectory, b: Trajectory, update: int) -> Iterator[Parting]:
    yield from _fields("step", a.steps, b.steps, update, _STEP_FIELDS)
    yield from _fields("evaluation", a.evaluations, b.evaluations, update, _EVALUATION_FIELDS)
    if update in a.evaluations and update in b.evaluations:
        yield from _records(a.evaluations[update].record_nll, b.evaluations[update].record_nll, update)
    yield from _fields("evaluation", a.evaluations, b.evaluations, update, _TOTAL_FIELDS)
    yield from _fields("checkpoint", a.checkpoints, b.checkpoints, update, _CHECKPOINT_FIELDS)


def _fields(
    event: str, a: Mapping[int, object], b: Mapping[int, object], update: int, names: tuple[str, ...]
) -> Iterator[Parting]:
    if update not in a and update not in b:
        return
    if update not in a or update not in b:
        present, absent = f"there is one {event} event", "absent"
        yield Parting(update, event, *((present, absent) if update in a else (absent, present)))
        return
    for name in names:
        one, other = getattr(a[update], name), getattr(b[update], name)
        if one != other:
            value = _VALUES.get(name)
            words = [
                f"{bits} ({getattr(each[update], value)!r})" if value else str(bits)
                for bits, each in ((one, a), (other, b))
            ]
            yield Parting(update, f"{event} {name}", words[0], words[1])


def _records(a: list[float], b: list[float], update: int) -> Iterator[Parting]:
    if len(a) != len(b):
        yield Parting(update, "evaluation record_nll", f"of {len(a)} records", f"{len(b)}")
    for index, (one, other) in enumerate(zip(a, b, strict=False)):
        # As bits: 0.0 is not -0.0, and a NaN is the same NaN.
        if float_bits(one) != float_bits(other):
            yield Parting(update, f"evaluation record_nll[{index}]", repr(one), repr(other))
