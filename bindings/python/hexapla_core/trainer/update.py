"""One update: forward, backward, norm, clip, AdamW; and the tensors that it works on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter

from hexapla_core.safe import Context, Tape, Tensor, optimizer
from hexapla_core.trainer.adapter import Adapter, Moments, close_all, zeros_like
from hexapla_core.trainer.batch import MicroBatch, batch_digest, micro_batches, record_sums
from hexapla_core.trainer.failure import Failure
from hexapla_core.trainer.forward import Keep, forward
from hexapla_core.trainer.model import Model
from hexapla_core.trainer.order import records_of_update
from hexapla_core.trainer.render import Rendered
from hexapla_core.trainer.spec import Spec, f32
from hexapla_core.trainer.temporaries import Temporaries


@dataclass(frozen=True)
class Step:
    """What a `step` event says."""

    epoch: int
    records: int
    tokens: int
    labels: int
    loss: float
    gradient_norm: float
    clipped: bool
    learning_rate: float
    batch_digest: str
    milliseconds: float


class Learner:
    """Gradients of their own for every adapter tensor, and one tape that adds into them.

    Borrows context, model, adapter and moments; owns gradients and tape.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (what an update works on)
        self,
        context: Context,
        spec: Spec,
        model: Model,
        adapter: Adapter,
        moments: Moments,
        records: Sequence[Rendered],
        scope: type[Temporaries] = Temporaries,
    ) -> None:
        self._context, self._spec, self._model = context, spec, model
        self._adapter, self._moments, self._records, self._scope = adapter, moments, records, scope
        self._parameters = list(adapter.tensors.values())
        with ExitStack() as on_failure:
            shapes = {name: tensor.shape for name, tensor in adapter.tensors.items()}
            gradients = zeros_like(context, shapes)
            on_failure.callback(close_all, gradients)
            self.tape = on_failure.enter_context(Tape(context))
            self._gradients = list(gradients.values())
            for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
                self.tape.watch(parameter, gradient)
            self._owned = on_failure.pop_all()

    def __enter__(self) -> Learner:
        return self

    def __exit__(self, *exception: object) -> None:
        self._owned.close()

    def records_of(self, update: int) -> tuple[int, list[Rendered]]:
        """Epoch and records of an update."""
        spec = self._spec
        epoch, numbers = records_of_update(len(self._records), spec.batch, spec.seed, update)
        return epoch, [self._records[index] for index in numbers]

    def run(self, update: int) -> Step:
        """Run update k, from 1. Raises Failure `non_finite` with parameters untouched, or core's errors."""
        self._context.mark(update)
        start = perf_counter()
        epoch, records = self.records_of(update)
        for gradient in self._gradients:
            gradient.fill(0.0)
        labels = sum(record.labels for record in records)
        total = 0.0
        for batch in micro_batches(records, self._spec.micro_batch):
            for value in self._micro_batch(batch, f32(1.0 / labels)):
                total += value
        loss = total / labels
        norm = optimizer.gradient_norm(self._gradients)
        for name, value in (("loss", loss), ("gradient norm", norm)):
            if not math.isfinite(value):
                raise Failure("non_finite", f"{name} of update {update} is {value}", f"update {update}")
        clipped = optimizer.clip(self._gradients, norm, self._spec.clip_norm)
        learning_rate = self._spec.learning_rate_at(update)
        self._adamw(update, learning_rate)
        milliseconds = (perf_counter() - start) * 1e3
        tokens = sum(len(record.ids) for record in records)
        return Step(
            epoch,
            len(records),
            tokens,
            labels,
            loss,
            norm,
            clipped,
            learning_rate,
            batch_digest(records),
            milliseconds,
        )

    def record(self, batch: MicroBatch, keep: Keep) -> Tensor:
        """Forward on the tape: NLL of each label."""
        return forward(self._model, self._adapter, batch, self.tape, keep)

    def _micro_batch(self, batch: MicroBatch, weight: float) -> list[float]:
        """Forward and backward; the NLL of each record."""
        with self._scope() as temporaries:
            nll = self.record(batch, temporaries.keep)
            values = record_sums(nll.read(), batch.label_counts)
            incoming = temporaries.keep(Tensor(self._context, (len(batch.targets),)))
            incoming.fill(weight)
            self.tape.backward(nll, incoming)
        return values

    def _adamw(self, update: int, learning_rate: float) -> None:
        spec, moments = self._spec, self._moments
        options = optimizer.AdamW(
            update, learning_rate, spec.beta1, spec.beta2, spec.epsilon, spec.weight_decay
        )
        exp_avg, exp_avg_sq = list(moments.exp_avg.values()), list(moments.exp_avg_sq.values())
        optimizer.adamw_step(options, self._parameters, self._gradients, exp_avg, exp_avg_sq)
