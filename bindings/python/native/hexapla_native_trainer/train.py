"""The `train` request: data, evaluations, updates, checkpoints in SPEC's order. Separate from the update
itself.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hexapla_native import Error, Scope, process_memory

from hexapla_native_trainer.adapter import load_adapter, load_moments, new_moments, read_adapter_config
from hexapla_native_trainer.batch import batch_digest
from hexapla_native_trainer.checkpoint import Checkpoints
from hexapla_native_trainer.devices import Place, take_context
from hexapla_native_trainer.evaluate import Evaluator
from hexapla_native_trainer.events import Events, with_bits
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.model import Model, load_model
from hexapla_native_trainer.order import Order
from hexapla_native_trainer.refusal import At, Refusal
from hexapla_native_trainer.render import Rendered, Rendering, open_renderer, render_file
from hexapla_native_trainer.schedule import schedule_of
from hexapla_native_trainer.spec import Spec, parse_spec
from hexapla_native_trainer.update import Updates


@dataclass(frozen=True)
class Job:
    """A train request without its context."""

    spec: Spec
    spec_digest: str
    model: str
    tokenizer: str
    train: str
    heldout: str
    adapter: str
    output: str
    resume_from: str | None
    stop_after: int | None
    schedule: str
    release: str


def take_job(fields: Fields) -> Job:
    spec_value: Any = fields.take("spec")
    stop = fields.take("stop_after")
    if stop is not None and (not isinstance(stop, int) or isinstance(stop, bool)):
        raise fields.refuse("stop_after", f"is {stop!r:.80}, must be an integer or null")
    texts = {
        key: fields.string(key)
        for key in ("spec_digest", "model", "tokenizer", "train", "heldout", "adapter", "output")
    }
    resume_from = fields.string_or_null("resume_from")
    schedule = fields.choice("schedule", ("pinned", "migrating"))
    release = fields.choice("release", ("explicit", "collector"))
    fields.end()
    return Job(
        spec=parse_spec(spec_value),
        **texts,
        resume_from=resume_from,
        stop_after=stop,
        schedule=schedule,
        release=release,
    )


def render_both(job: Job) -> tuple[Rendering, Rendering]:
    """(train, held-out)."""
    tokenizer, renderer = open_renderer(job.tokenizer, job.spec.template, job.spec.length)
    with tokenizer:
        return render_file(renderer, job.train), render_file(renderer, job.heldout)


class Training:
    """A run on a context: what it loaded, and its next update. The place owns all of it."""

    def __init__(self, job: Job, place: Place, records: list[Rendered]) -> None:
        self.job = job
        adapter_config = read_adapter_config(job.adapter, job.spec)
        self.checkpoints = Checkpoints(job.output, adapter_config, job.spec_digest)
        self.model: Model = load_model(job.model, place)
        self.start = 0
        self.updates = self.state(place)
        self._records = records
        self._order = Order(len(records), job.spec.seed, job.spec.batch)

    def state(self, place: Place) -> Updates:
        """Adapter, moments and gradients as the run begins with them; sets `start`."""
        job, config = self.job, self.model.config
        adapter = load_adapter(job.resume_from or job.adapter, config, job.spec, place)
        if job.resume_from is None:
            moments = new_moments(adapter, place)
        else:
            said = job.spec_digest
            moments, self.start = load_moments(job.resume_from, config, job.spec, said, place)
        return Updates(place, self.model, adapter, moments, job.spec)

    def records_of(self, update: int) -> tuple[int, list[Rendered]]:
        """(epoch, records) of an update."""
        epoch, places = self._order.of_update(update)
        return epoch, [self._records[place] for place in places]

    def update(self, update: int, events: Events) -> None:
        """One update and its `step` event."""
        epoch, records = self.records_of(update)
        step = self.updates.run(update, records, self.job.release)
        events.send(
            "step",
            step=update,
            epoch=epoch,
            records=len(records),
            tokens=step.tokens,
            labels=step.labels,
            **with_bits("loss", step.loss),
            **with_bits("gradient_norm", step.norm),
            clipped=step.clipped,
            **with_bits("learning_rate", step.learning_rate),
            batch_digest=batch_digest(records),
            milliseconds=step.milliseconds,
        )

    def save(self, update: int, events: Events) -> None:
        adapter, moments = self.updates.adapter, self.updates.moments
        path = self.checkpoints.save(update, adapter, moments)
        events.send(
            "checkpoint",
            step=update,
            path=str(path),
            adapter_digest=adapter.digest(),
            optimizer_digest=moments.digest(),
        )


def answer_train(fields: Fields, events: Events, ended: Callable[[], bool]) -> None:
    """The `train` request; `ended` tells that stdin is at its end, which stops the run between updates."""
    choice = take_context(fields)
    job = take_job(fields)
    train, heldout = render_both(job)
    with choice.open() as context, Scope() as scope:
        training = Training(job, Place(context, scope), train.accepted)
        last = last_update(job, training.start)
        saves = [k for k in range(training.start + 1, last + 1) if saves_at(job.spec, k, last)]
        training.checkpoints.prepare(saves)
        send_data(train, heldout, events)
        reached = follow(training, last, heldout.accepted, events, ended)
        peak = context.memory().peak_bytes
    if job.release == "collector":
        gc.collect()  # what was lost must not be counted as held
    events.send(
        "done",
        step=reached,
        stopped=reached < job.spec.updates,
        device_bytes_peak=peak,
        handles_live=process_memory().live_handles,
    )


def last_update(job: Job, start: int) -> int:
    """The update that the run ends with."""
    if start >= job.spec.updates:
        raise Refusal("request", f"resume_from stands at update {start} of {job.spec.updates}", "resume_from")
    if job.stop_after is None:
        return job.spec.updates
    if not start < job.stop_after <= job.spec.updates:
        message = f"stop_after: is {job.stop_after}, must be from {start + 1} to {job.spec.updates}"
        raise Refusal("request", message, "stop_after")
    return job.stop_after


def saves_at(spec: Spec, update: int, last: int) -> bool:
    return update % spec.save_every == 0 or update == last


def send_data(train: Rendering, heldout: Rendering, events: Events) -> None:
    rejected: Counter[str] = train.rejected + heldout.rejected
    events.send(
        "data",
        train=len(train.accepted),
        heldout=len(heldout.accepted),
        rejected=dict(rejected),
        markers=train.markers + heldout.markers,
    )


def follow(
    training: Training, last: int, heldout: list[Rendered], events: Events, ended: Callable[[], bool]
) -> int:
    """Every update up to the last, or to the end of stdin; the update reached."""
    job, spec = training.job, training.job.spec
    evaluator = Evaluator(training.model, training.updates.adapter, heldout, spec, job.release)
    schedule = schedule_of(job.schedule)
    try:
        if job.resume_from is None:
            with At("update 0"):
                evaluator.run(0, events)
        for update in range(training.start + 1, last + 1):
            if ended():
                return update - 1

            def step(update: int = update) -> None:
                training.update(update, events)
                if update % spec.evaluate_every == 0 or update == spec.updates:
                    evaluator.run(update, events)
                if saves_at(spec, update, last):
                    training.save(update, events)

            with At(f"update {update}"):
                schedule.run(step)
    finally:
        schedule.close()
    return last


def core_status(error: BaseException) -> str:
    """The status that an update or a save ended with, as probes name it."""
    while error is not None:
        if isinstance(error, Error):
            return error.status
        if error.__cause__ is None:
            break
        error = error.__cause__
    return error.status if isinstance(error, Refusal) else type(error).__name__
