"""The `load` request: every tensor with its digest."""

from __future__ import annotations

import math

from hexapla_native import Scope, digest

from hexapla_native_trainer.devices import Place, take_context
from hexapla_native_trainer.events import Events
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.model import load_model
from hexapla_native_trainer.refusal import At


def answer_load(fields: Fields, events: Events) -> None:
    folder = fields.string("model")
    choice = take_context(fields)
    fields.end()
    parameters = 0
    with choice.open() as context, Scope() as scope:
        model = load_model(folder, Place(context, scope))
        for each in model.stored:
            parameters += math.prod(each.shape)
            with At(each.name):
                text = digest([model.weights[each.name]])
            events.send("tensor", name=each.name, shape=list(each.shape), dtype=each.dtype, digest=text)
    events.send("done", tensors=len(model.stored), parameters=parameters)
