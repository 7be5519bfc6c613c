"""Lies about its step: update 2 comes first."""

from typing import Any

from speak import Request, say, serve


def zeros(*names: str) -> dict[str, Any]:
    bits = {f"{name}_bits": "0x" + "0" * 16 for name in names}
    return {**dict.fromkeys(names, 0.0), **bits}


def train(request: Request) -> None:
    say(request, "data", train=4, heldout=2, rejected={}, markers=0)
    counts = {"adapter": True, "labels": 2, "record_nll": [0, 0], "adapter_digest": None}
    say(request, "evaluation", step=0, **counts, **zeros("loss", "total"))
    counts = {"epoch": 0, "records": 4, "tokens": 9, "labels": 4, "clipped": False, "milliseconds": 1.0}
    numbers = zeros("loss", "gradient_norm", "learning_rate")
    say(request, "step", step=2, batch_digest="0" * 16, **counts, **numbers)


serve(train=train)
