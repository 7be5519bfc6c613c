"""Evaluation: the held-out records in file order, nothing recorded, nothing changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hexapla_core.trainer.adapter import Adapter
from hexapla_core.trainer.batch import micro_batches, record_sums
from hexapla_core.trainer.events import number, with_bits
from hexapla_core.trainer.forward import forward
from hexapla_core.trainer.model import Model
from hexapla_core.trainer.render import Rendered
from hexapla_core.trainer.temporaries import Temporaries


@dataclass(frozen=True)
class Evaluation:
    """Held-out cross-entropy. record_nll: in file order; total: their f64 running sum."""

    record_nll: list[float]
    total: float
    labels: int
    adapter_digest: str | None

    @property
    def loss(self) -> float:
        """Cross-entropy a label."""
        return self.total / self.labels

    def members(self, step: int) -> dict[str, Any]:
        """The members of an `evaluation` event."""
        return {
            "step": step,
            "adapter": self.adapter_digest is not None,
            **with_bits(loss=self.loss, total=self.total),
            "labels": self.labels,
            "record_nll": [number(value) for value in self.record_nll],
            "adapter_digest": self.adapter_digest,
        }


def evaluate(
    model: Model,
    adapter: Adapter | None,
    records: Sequence[Rendered],
    micro_batch: int,
    scope: type[Temporaries] = Temporaries,
) -> Evaluation:
    """Evaluate; adapter None: off."""
    record_nll: list[float] = []
    for batch in micro_batches(records, micro_batch):
        with scope() as temporaries:
            nll = forward(model, adapter, batch, None, temporaries.keep)
            record_nll += record_sums(nll.read(), batch.label_counts)
    total = 0.0
    for value in record_nll:
        total += value
    labels = sum(record.labels for record in records)
    return Evaluation(record_nll, total, labels, None if adapter is None else adapter.digest())
