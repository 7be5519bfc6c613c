"""The `load` and `render` requests: what was read, told one by one."""

from __future__ import annotations

import math
from typing import Any

from hexapla_core.safe import Tokenizer
from hexapla_core.trainer.events import Events
from hexapla_core.trainer.failure import Failure, located
from hexapla_core.trainer.model import load_model
from hexapla_core.trainer.render import Rejected, Renderer, rejections, render_file
from hexapla_core.trainer.spec import TEMPLATES
from hexapla_core.trainer.train import open_context


def answer_load(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """Every weight of a model by its name's bytes, with the digest of its widened values."""
    parameters = 0
    with open_context(request["context"]) as context, load_model(context, request["model"]) as model:
        for name in sorted(model.weights, key=lambda name: name.encode("utf-8")):
            stored = model.stored[name]
            with located(name):
                digest = model.weights[name].digest()
            events.send("tensor", name=name, shape=list(stored.shape), dtype=stored.dtype, digest=digest)
            parameters += math.prod(stored.shape)
        return {"tensors": len(model.weights), "parameters": parameters}


def answer_render(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """Every record of a file as ids and labels, or as rejected."""
    template, length = request["template"], request["length"]
    if template not in TEMPLATES:
        raise Failure("request", f"is {template!r:.60}, must be {' or '.join(TEMPLATES)}", "template")
    if length < 2:
        raise Failure("request", f"is {length}, must be at least 2", "length")
    with located(request["tokenizer"]), Tokenizer(request["tokenizer"]) as tokenizer:
        corpus = render_file(Renderer(tokenizer, template, length), request["records"])
    for result in corpus.results:
        if isinstance(result, Rejected):
            events.send("record", record=result.id, rejected=result.reason)
        else:
            labels = "".join(map(str, result.flags))
            events.send("record", record=result.id, ids=result.ids.tolist(), labels=labels)
    return {"accepted": len(corpus.accepted), "rejected": rejections([corpus]), "markers": corpus.markers}
