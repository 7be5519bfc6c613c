"""The `train` request: everything before update 1, and the update loop.

Apart from evaluation because only this changes the adapter. It trains by the specification and has no rule of
its own for odd losses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .adapter import ADAPTER_CONFIG, Adapter, adapter_shapes, read_adapter
from .checkpoint import State, refuse_existing, resume, save
from .config import Spec, check_adapter_config
from .evaluate import Evaluation, evaluate, record_sums
from .events import Emit, Event, with_bits
from .failure import Failure, Skipped, read_bytes
from .model import Batch, Model, Tape, read_model
from .optimizer import adamw, clip_factor, gradient_norm, learning_rate
from .order import batch_digest, runs, updates_of
from .render import Rendered, RenderedFile, Renderer, refuse_foreign_ids
from .requests import context_threads
from .strict_json import Json
from .threads import side_by_side


@dataclass
class Run:
    """One run: what is fixed, and the state that changes."""

    spec: Spec
    spec_digest: str
    model: Model
    train: list[Rendered]
    heldout: list[Rendered]
    state: State
    output: Path
    adapter_config: bytes
    last: int  # the update after which the run ends
    threads: int

    def evaluate(self) -> Evaluation:
        return evaluate(self.model, self.heldout, self.state.adapter, self.spec, self.threads)


def train(request: dict[str, Json], emit: Emit, ended: Callable[[], bool]) -> Event:
    """Run a `train` request to its `done`; `ended` says whether stdin has ended, which stops the run."""
    run, data = _prepare(request)
    spec, state = run.spec, run.state
    emit(data)
    if state.update == 0:
        _evaluate(run, emit)
    for update, epoch, chosen in updates_of(spec.seed, len(run.train), spec.batch, state.update + 1):
        if ended() or update > run.last:
            break
        records = [run.train[index] for index in chosen]
        emit(_update(run, update, epoch, records))
        if update % spec.evaluate_every == 0 or update == spec.updates:
            _evaluate(run, emit)
        if _saves(spec, update, run.last):
            emit(save(run.output, state, run.adapter_config, run.spec_digest))
    return {
        "event": "done",
        "step": state.update,
        "stopped": state.update < spec.updates,
        "device_bytes_peak": None,
        "handles_live": None,
    }


def _update(run: Run, update: int, epoch: int, records: Sequence[Rendered]) -> Event:
    """One update, and its `step` event. A loss or norm that is not finite changes nothing (`non_finite`)."""
    spec, state = run.spec, run.state
    begun = time.perf_counter()
    labels = sum(record.labels for record in records)
    loss, gradients = _accumulate(run, records, labels)
    norm = gradient_norm(gradients.values())
    for what, value in (("loss", loss), ("gradient norm", norm)):
        if not math.isfinite(value):
            raise Failure("non_finite", f"the {what} of update {update} is {value}", f"update {update}")
    factor = clip_factor(norm, spec.clip_norm)
    rate = learning_rate(spec, update)
    for name, gradient in gradients.items():
        state.adapter[name], state.exp_avg[name], state.exp_avg_sq[name] = adamw(
            state.adapter[name],
            gradient * factor,
            state.exp_avg[name],
            state.exp_avg_sq[name],
            learning_rate=rate,
            beta1=spec.beta1,
            beta2=spec.beta2,
            epsilon=spec.epsilon,
            weight_decay=spec.weight_decay,
            step=update,
        )
    state.update = update
    milliseconds = (time.perf_counter() - begun) * 1000
    return {
        "event": "step",
        "step": update,
        "epoch": epoch,
        "records": len(records),
        "tokens": sum(len(record.ids) for record in records),
        "labels": labels,
        **with_bits("loss", loss),
        **with_bits("gradient_norm", norm),
        "clipped": norm > spec.clip_norm,
        **with_bits("learning_rate", rate),
        "batch_digest": batch_digest(records),
        "milliseconds": milliseconds,
    }


def _accumulate(run: Run, records: Sequence[Rendered], labels: int) -> tuple[float, Adapter]:
    """The update's loss, and the gradients summed over its micro-batches in order."""
    weight = float(np.float32(1 / labels))
    adapter, scale = run.state.adapter, run.spec.scale

    def one(part: Sequence[Rendered]) -> tuple[list[float], Adapter]:
        batch, tape = Batch.pack(part), Tape()
        nll = run.model.forward(batch, adapter, scale, tape)
        gradients = run.model.backward(batch, adapter, scale, tape, weight)
        return record_sums(nll, batch.record_labels), gradients

    total, gradients = 0.0, {name: np.zeros_like(values) for name, values in adapter.items()}
    for record_nlls, part_gradients in side_by_side(one, runs(records, run.spec.micro_batch), run.threads):
        for record_nll in record_nlls:
            total += record_nll
        for name, gradient in part_gradients.items():
            gradients[name] += gradient
    return total / labels, gradients


def _evaluate(run: Run, emit: Emit) -> None:
    made, step = run.evaluate(), run.state.update
    emit(made.event(step, run.state.adapter))
    refuse_non_finite(made, step)


def refuse_non_finite(made: Evaluation, step: int) -> None:
    """End the run after an evaluation that was sent though it is not finite (`non_finite`)."""
    if not math.isfinite(made.total):
        raise Failure("non_finite", f"the evaluation of update {step} is {made.total}", f"update {step}")


def _saves(spec: Spec, update: int, last: int) -> bool:
    return update % spec.save_every == 0 or update in (spec.updates, last)


def _prepare(request: dict[str, Json]) -> tuple[Run, Event]:
    """Check and read everything before update 1; also the `data` event."""
    spec = Spec.read(request["spec"])
    if request["schedule"] == "migrating":
        raise Skipped("schedule migrating waits in a native call of core, which the oracle does not have")
    if request["release"] == "collector":
        raise Skipped(
            "release collector is about core's tensors; NumPy's arrays are counted by CPython itself"
        )
    folder, output, stop_after = (
        Path(str(request["adapter"])),
        Path(str(request["output"])),
        request["stop_after"],
    )
    spec_digest, origin = str(request["spec_digest"]), request["resume_from"]
    check_adapter_config(folder / ADAPTER_CONFIG, spec)
    model, _ = read_model(Path(str(request["model"])))
    shapes = adapter_shapes(model.config, spec)
    if origin is None:
        state = State.begin(read_adapter(folder, shapes))
    else:
        state = resume(Path(str(origin)), shapes, spec_digest)
        if state.update >= spec.updates:
            message = f"resume_from stands at update {state.update}, the run ends at {spec.updates}"
            raise Failure("request", message, "resume_from")
    last = spec.updates if stop_after is None else int(stop_after)  # type: ignore[arg-type]
    if not state.update < last <= spec.updates:
        message = f"stop_after is {last}, expected above {state.update} and at most {spec.updates}"
        raise Failure("request", message, "stop_after")
    refuse_existing(output, (k for k in range(state.update + 1, last + 1) if _saves(spec, k, last)))
    renderer = Renderer(Path(str(request["tokenizer"])), spec.template)
    train, heldout = (
        renderer.render_file(Path(str(request[key])), spec.length) for key in ("train", "heldout")
    )
    refuse_foreign_ids(train.accepted + heldout.accepted, model.config.vocab_size)
    config, threads = read_bytes(folder / ADAPTER_CONFIG), context_threads(request)
    run = Run(
        spec, spec_digest, model, train.accepted, heldout.accepted, state, output, config, last, threads
    )
    return run, _data(train, heldout)


def _data(train: RenderedFile, heldout: RenderedFile) -> Event:
    return {
        "event": "data",
        "train": len(train.accepted),
        "heldout": len(heldout.accepted),
        "rejected": dict(train.rejected + heldout.rejected),
        "markers": train.markers + heldout.markers,
    }
