"""One update: forward, backward, norm, clip, AdamW. Separate from the run around it, since probes make
updates too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hexapla_native import Tape, Tensor, adamw_step, gradient_clip, gradient_norm, zeros

from hexapla_native_trainer.adapter import Adapter, Moments, watch_all
from hexapla_native_trainer.batch import MicroBatch, micro_batches
from hexapla_native_trainer.devices import Place
from hexapla_native_trainer.forward import Forward
from hexapla_native_trainer.model import Model
from hexapla_native_trainer.refusal import Refusal
from hexapla_native_trainer.render import Rendered
from hexapla_native_trainer.spec import Spec
from hexapla_native_trainer.temporaries import temporaries


@dataclass(frozen=True)
class Step:
    """What an update says of itself."""

    tokens: int
    labels: int
    loss: float
    norm: float
    clipped: bool
    learning_rate: float
    milliseconds: float


def record_sums(nll: Tensor, labels: Sequence[int]) -> list[float]:
    """Each record's f64 running sum of its labels, one after the other: not sum(), which compensates."""
    values = np.asarray(nll).tolist()
    sums, at = [], 0
    for count in labels:
        total = 0.0
        for value in values[at : at + count]:
            total += value
        sums.append(total)
        at += count
    return sums


class Updates:
    """The state that updates change. One tape for the run; gradients are bound to it once."""

    def __init__(self, place: Place, model: Model, adapter: Adapter, moments: Moments, spec: Spec) -> None:
        self.context, self.adapter, self.moments = place.context, adapter, moments
        self.tape = place.scope.keep(Tape(place.context))
        self.gradients = watch_all(adapter, self.tape, place)
        self._spec = spec
        self.forward = Forward(model, adapter)

    def run(self, update: int, records: Sequence[Rendered], release: str) -> Step:
        """Raises Refusal `non_finite` before any parameter has changed."""
        started = time.perf_counter()
        spec = self._spec
        self.context.mark(update)
        labels = sum(record.labels for record in records)
        for gradient in self.gradients:
            gradient.fill(0.0)
        total = 0.0
        for batch in micro_batches(records, spec.micro_batch):
            for nll in self.micro_batch(batch, labels, release):
                total += nll
        loss = total / labels
        norm = gradient_norm(self.gradients)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            where = f"update {update}"
            raise Refusal("non_finite", f"{where}: loss {loss}, gradient norm {norm}", where)
        clipped = gradient_clip(self.gradients, norm, spec.clip_norm)
        learning_rate = spec.learning_rate_at(update)
        adamw_step(
            self.adapter.tensors,
            self.gradients,
            self.moments.exp_avgs,
            self.moments.exp_avg_sqs,
            step=update,
            learning_rate=learning_rate,
            beta1=spec.beta1,
            beta2=spec.beta2,
            epsilon=spec.epsilon,
            weight_decay=spec.weight_decay,
        )
        milliseconds = (time.perf_counter() - started) * 1000
        tokens = sum(len(record.ids) for record in records)
        return Step(tokens, labels, loss, norm, clipped, learning_rate, milliseconds)

    def micro_batch(self, batch: MicroBatch, labels: int, release: str) -> list[float]:
        """Forward and backward; the records' sums. Whatever happens, the tape is left empty."""
        with temporaries(release) as scope:
            try:
                nll = self.forward.nll(batch, self.tape, scope)
                weights = scope.keep(zeros(self.context, nll.shape))
                weights.fill(1.0 / labels)
                self.tape.backward(nll, weights)
            except BaseException:
                self.tape.reset()
                raise
            return record_sums(nll, batch.labels)
