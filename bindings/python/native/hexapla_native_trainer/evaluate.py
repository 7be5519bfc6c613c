"""Evaluation on the held-out records, and the `evaluate` request. It records nothing and changes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapla_native import Scope

from hexapla_native_trainer.adapter import Adapter, load_adapter, read_adapter_config
from hexapla_native_trainer.batch import micro_batches
from hexapla_native_trainer.devices import Place, take_context
from hexapla_native_trainer.events import Events, number, with_bits
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.forward import Forward
from hexapla_native_trainer.model import Model, load_model
from hexapla_native_trainer.refusal import At, Refusal
from hexapla_native_trainer.render import Rendered, open_renderer, render_file
from hexapla_native_trainer.spec import Spec, parse_spec
from hexapla_native_trainer.temporaries import temporaries
from hexapla_native_trainer.update import record_sums


@dataclass(frozen=True)
class Evaluator:
    """What every evaluation of a run has in common."""

    model: Model
    adapter: Adapter | None
    records: Sequence[Rendered]
    spec: Spec
    release: str

    def run(self, step: int, events: Events) -> None:
        """Send one `evaluation`. Raises Refusal `non_finite` behind it."""
        forward = Forward(self.model, self.adapter)
        sums: list[float] = []
        for batch in micro_batches(self.records, self.spec.micro_batch):
            with temporaries(self.release) as scope:
                sums += record_sums(forward.nll(batch, None, scope), batch.labels)
        total = 0.0
        for each in sums:
            total += each
        labels = sum(record.labels for record in self.records)
        loss = total / labels
        events.send(
            "evaluation",
            step=step,
            adapter=self.adapter is not None,
            **with_bits("loss", loss),
            **with_bits("total", total),
            labels=labels,
            record_nll=[number(each) for each in sums],
            adapter_digest=self.adapter.digest() if self.adapter else None,
        )
        if not math.isfinite(loss):
            where = f"update {step}"
            raise Refusal("non_finite", f"{where}: evaluation loss {loss}", where)


def answer_evaluate(fields: Fields, events: Events) -> None:
    """The `evaluate` request."""
    spec_value = fields.take("spec")
    folder, tokenizer_folder = fields.string("model"), fields.string("tokenizer")
    heldout, adapter_folder = fields.string("heldout"), fields.string_or_null("adapter")
    choice = take_context(fields)
    fields.end()
    spec = parse_spec(spec_value)
    tokenizer, renderer = open_renderer(tokenizer_folder, spec.template, spec.length)
    with tokenizer:
        records = render_file(renderer, heldout).accepted
    with choice.open() as context, Scope() as scope:
        place = Place(context, scope)
        model = load_model(folder, place)
        adapter = _adapter(adapter_folder, model, spec, place)
        with At("evaluation"):
            Evaluator(model, adapter, records, spec, "explicit").run(0, events)
    events.send("done")


def _adapter(folder: str | None, model: Model, spec: Spec, place: Place) -> Adapter | None:
    if folder is None:
        return None
    read_adapter_config(folder, spec)
    return load_adapter(folder, model.config, spec, place)
