"""Held-out evaluation: token-weighted cross-entropy over all accepted records, in file order.

Separate because it runs in the middle of training and must change nothing there: no gradient, no
mode, no random number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .adapter import attach_adapter, check_adapter_config
from .channel import with_bits
from .config import Spec
from .failure import Failure
from .forward import check_vocabulary, micro_batches, negative_log_likelihoods, record_sums, running_sum
from .model import load_model
from .render import Example, TextEncoder, render_accepted
from .weights import digest


def evaluate_request(request: dict[str, Any], spec: Spec, emit: Callable[..., None]) -> None:
    """Answer the `evaluate` request but for its `done`; a null adapter leaves the base model alone."""
    folder = request["adapter"]
    if folder is not None:
        check_adapter_config(folder, spec)
    encoder = TextEncoder(request["tokenizer"])
    examples = render_accepted(encoder, request["heldout"], spec.template, spec.length).accepted
    model: Any = load_model(request["model"])
    check_vocabulary(model, examples, request["tokenizer"])
    adapter_digest = None
    if folder is not None:
        adapter = attach_adapter(model, spec, folder)
        model, adapter_digest = adapter.model, digest(adapter.parameters.values())
    values = evaluation(model, examples, spec.micro_batch, 0, adapter_digest)
    emit("evaluation", **values)
    check_finite(values)


def check_finite(values: dict[str, Any]) -> None:
    """End the request if the evaluation that was just sent is not finite."""
    if not math.isfinite(values["loss"]):
        message = f"the held-out loss after update {values['step']} is {values['loss']}"
        raise Failure("non_finite", message, f"update {values['step']}")


def evaluation(
    model: Any, examples: list[Example], micro_batch: int, step: int, adapter_digest: str | None
) -> dict[str, Any]:
    """The values of an `evaluation` event; `adapter_digest` is None when the adapter is off."""
    record_nll: list[float] = []
    with torch.no_grad():
        for group in micro_batches(examples, micro_batch):
            record_nll += record_sums(negative_log_likelihoods(model, group), group)
    labels = sum(map(label_count, examples))
    total = running_sum(record_nll)
    return {
        "step": step,
        "adapter": adapter_digest is not None,
        **with_bits("loss", total / labels),
        **with_bits("total", total),
        "labels": labels,
        "record_nll": record_nll,
        "adapter_digest": adapter_digest,
    }


def label_count(example: Example) -> int:
    """How many ids of the example are learned."""
    return sum(example.labels)
