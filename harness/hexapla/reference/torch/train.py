"""The `train` request: everything checked first, then the step loop as SPEC.md writes it.

Separate from the parts it calls so that the loop fits a screen. It must not know how a record is
rendered, a file is written or an event is sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .adapter import CONFIG_FILE, Adapter, attach_adapter, check_adapter_config
from .channel import with_bits
from .checkpoint import checkpoint_path, prepare_output, read_update, restore_optimizer, save_checkpoint
from .config import Spec, learning_rate
from .evaluate import check_finite, evaluation, label_count
from .failure import Failure
from .forward import check_vocabulary, micro_batches, negative_log_likelihoods, record_sums, running_sum
from .model import load_model
from .optimizer import AdamW, clip, gradient_norm, to_f32
from .order import Batch, batch_digest, batches
from .render import Example, Rendered, TextEncoder, render_accepted
from .weights import digest

Emit = Callable[..., None]


@dataclass
class Run:
    """All that a run needs once it has been checked."""

    spec: Spec
    request: dict[str, Any]
    train: list[Example]
    heldout: list[Example]
    adapter: Adapter
    optimizer: AdamW
    start: int  # the last update already done; 0 for a new run
    last: int  # the update after which the run ends


def train(request: dict[str, Any], spec: Spec, emit: Emit, input_ended: Callable[[], bool]) -> None:
    """Run the request to its `done`; raise `Failure` otherwise."""
    start, last = _first_and_last(request, spec)
    check_adapter_config(request["adapter"], spec)
    saved = [k for k in range(start + 1, last + 1) if k % spec.save_every == 0 or k == last]
    prepare_output(request["output"], saved)
    encoder = TextEncoder(request["tokenizer"])
    train_file = render_accepted(encoder, request["train"], spec.template, spec.length)
    heldout_file = render_accepted(encoder, request["heldout"], spec.template, spec.length)
    base = load_model(request["model"])
    check_vocabulary(base, train_file.accepted + heldout_file.accepted, request["tokenizer"])
    adapter = attach_adapter(base, spec, request["resume_from"] or request["adapter"])
    optimizer = AdamW(
        adapter.parameters,
        beta1=spec.beta1,
        beta2=spec.beta2,
        epsilon=spec.epsilon,
        weight_decay=spec.weight_decay,
    )
    if request["resume_from"] is not None:
        restore_optimizer(request["resume_from"], optimizer, start)
    emit("data", **_data(train_file, heldout_file))
    run = Run(spec, request, train_file.accepted, heldout_file.accepted, adapter, optimizer, start, last)
    if request["resume_from"] is None:
        _evaluate(run, 0, emit)
    done = _steps(run, emit, input_ended)
    emit("done", step=done, stopped=done < spec.updates, device_bytes_peak=None, handles_live=None)


def _first_and_last(request: dict[str, Any], spec: Spec) -> tuple[int, int]:
    start = 0
    if request["resume_from"] is not None:
        start = read_update(request["resume_from"], request["spec_digest"])
        if start >= spec.updates:
            message = f"the checkpoint is of update {start}, the run has {spec.updates}"
            raise Failure("request", message, "resume_from")
    last = spec.updates if request["stop_after"] is None else request["stop_after"]
    if not start < last <= spec.updates:
        message = f"stop_after must be above {start} and at most {spec.updates}, not {last}"
        raise Failure("request", message, "stop_after")
    return start, last


def _data(train_file: Rendered, heldout_file: Rendered) -> dict[str, Any]:
    return {
        "train": len(train_file.accepted),
        "heldout": len(heldout_file.accepted),
        "rejected": dict(train_file.rejected + heldout_file.rejected),
        "markers": train_file.markers + heldout_file.markers,
    }


def _steps(run: Run, emit: Emit, input_ended: Callable[[], bool]) -> int:
    """The step loop; returns the last update done, short of `run.last` only at the end of input."""
    spec = run.spec
    order = batches(spec.seed, len(run.train), spec.batch, run.start)
    for k in range(run.start + 1, run.last + 1):
        if input_ended():
            return k - 1
        emit("step", **_update(run, k, next(order)))
        if k % spec.evaluate_every == 0 or k == spec.updates:
            _evaluate(run, k, emit)
        if k % spec.save_every == 0 or k == run.last:
            _save(run, k, emit)
    return run.last


def _update(run: Run, k: int, batch: Batch) -> dict[str, Any]:
    """Update k; returns the values of its `step` event."""
    spec, parameters = run.spec, run.adapter.parameters
    started = time.perf_counter()
    examples = [run.train[index] for index in batch.records]
    labels = sum(map(label_count, examples))
    weight = to_f32(1 / labels)
    for parameter in parameters.values():
        parameter.grad = torch.zeros_like(parameter)
    record_nll: list[float] = []
    for group in micro_batches(examples, spec.micro_batch):
        nll = negative_log_likelihoods(run.adapter.model, group)  # (labels of the group,)
        record_nll += record_sums(nll, group)
        torch.autograd.backward(nll, torch.full_like(nll, weight))
    loss = running_sum(record_nll) / labels
    gradients = [parameter.grad for parameter in parameters.values() if parameter.grad is not None]
    norm = gradient_norm(gradients)
    for name, value in (("loss", loss), ("gradient norm", norm)):
        if not math.isfinite(value):
            raise Failure("non_finite", f"the {name} of update {k} is {value}", f"update {k}")
    clipped = clip(gradients, norm, spec.clip_norm)
    rate = to_f32(learning_rate(spec, k))
    run.optimizer.step(rate)
    milliseconds = (time.perf_counter() - started) * 1000
    return {
        "step": k,
        "epoch": batch.epoch,
        "records": len(examples),
        "tokens": sum(len(example.ids) for example in examples),
        "labels": labels,
        **with_bits("loss", loss),
        **with_bits("gradient_norm", norm),
        "clipped": clipped,
        **with_bits("learning_rate", rate),
        "batch_digest": batch_digest(examples),
        "milliseconds": milliseconds,
    }


def _evaluate(run: Run, step: int, emit: Emit) -> None:
    adapter_digest = digest(run.adapter.parameters.values())
    values = evaluation(run.adapter.model, run.heldout, run.spec.micro_batch, step, adapter_digest)
    emit("evaluation", **values)
    check_finite(values)


def _save(run: Run, k: int, emit: Emit) -> None:
    request, parameters = run.request, run.adapter.parameters
    path = checkpoint_path(request["output"], k)
    metadata = {"update": str(k), "spec_digest": request["spec_digest"]}
    save_checkpoint(path, Path(request["adapter"]) / CONFIG_FILE, metadata, parameters, run.optimizer)
    moments = [moment for name in parameters for moment in run.optimizer.moments(name)]
    emit(
        "checkpoint",
        step=k,
        path=str(path),
        adapter_digest=digest(parameters.values()),
        optimizer_digest=digest(moments),
    )
