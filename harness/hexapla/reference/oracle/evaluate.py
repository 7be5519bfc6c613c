"""Held-out cross-entropy, and the sums that training shares with it.

Apart from training because the `evaluate` request runs it alone, and because it must change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .adapter import Adapter
from .config import Spec
from .events import Event, with_bits
from .model import Batch, Model
from .order import runs
from .render import Rendered
from .tensors import Float64, digest
from .threads import side_by_side


def record_sums(nll: Float64, record_labels: Sequence[int]) -> list[float]:
    """Each record's NLL: the running sum of its labels in order."""
    values = iter(nll.tolist())
    sums: list[float] = []
    for labels in record_labels:
        total = 0.0
        for _ in range(labels):
            total += next(values)
        sums.append(total)
    return sums


@dataclass(frozen=True)
class Evaluation:
    """One pass over the held-out records; sums in nats."""

    record_nll: list[float]
    total: float
    labels: int

    def event(self, step: int, adapter: Adapter | None) -> Event:
        """The `evaluation` event; `adapter` None says that it was off."""
        return {
            "event": "evaluation",
            "step": step,
            "adapter": adapter is not None,
            **with_bits("loss", self.total / self.labels),
            **with_bits("total", self.total),
            "labels": self.labels,
            "record_nll": list(self.record_nll),
            "adapter_digest": None if adapter is None else digest(adapter.values()),
        }


def evaluate(
    model: Model, records: Sequence[Rendered], adapter: Adapter | None, spec: Spec, threads: int
) -> Evaluation:
    """Sum the nll of all records in file order, in micro-batches, recording nothing."""

    def sums(part: Sequence[Rendered]) -> list[float]:
        batch = Batch.pack(part)
        return record_sums(model.forward(batch, adapter or {}, spec.scale, None), batch.record_labels)

    record_nll: list[float] = []
    for part_nll in side_by_side(sums, runs(records, spec.micro_batch), threads):
        record_nll += part_nll
    total = 0.0
    for nll in record_nll:
        total += nll
    return Evaluation(record_nll, total, sum(record.labels for record in records))
