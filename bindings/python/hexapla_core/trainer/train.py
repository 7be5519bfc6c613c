"""The `train` request: data, updates, evaluations, checkpoints, in the order that docs/spec.md gives."""

from __future__ import annotations

import gc
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from threading import Thread
from types import TracebackType
from typing import Any, Protocol, Self

from hexapla_core.safe import Context, Gate, Tokenizer, process_memory
from hexapla_core.trainer.adapter import (
    Adapter,
    Moments,
    adapter_shapes,
    check_adapter_config,
    load_adapter,
    make_moments,
)
from hexapla_core.trainer.checkpoint import prepare_output, resume, save
from hexapla_core.trainer.evaluate import evaluate
from hexapla_core.trainer.events import Events, with_bits
from hexapla_core.trainer.failure import Failure, located
from hexapla_core.trainer.model import Config, Model, load_model
from hexapla_core.trainer.render import Rendered, Renderer, rejections, render_file, require_accepted
from hexapla_core.trainer.spec import Spec, parse_spec
from hexapla_core.trainer.temporaries import Temporaries, temporaries_of
from hexapla_core.trainer.update import Learner, Step

MIGRATION_LAG = 8


def open_context(choice: dict[str, Any]) -> Context:
    """The context that a request asks for."""
    with located("context"):
        return Context(
            choice["device"],
            threads=choice["threads"],
            memory_limit=choice["memory_limit"],
            spill=choice["spill"],
            ledger=choice["ledger"],
        )


def render_for(
    spec: Spec, tokenizer: str, paths: Sequence[str], events: Events | None
) -> list[list[Rendered]]:
    """Render whole files; the `data` event when there is somebody to tell. Raises Failure."""
    with located(tokenizer), Tokenizer(tokenizer) as opened:
        renderer = Renderer(opened, spec.template, spec.length)
        corpora = [render_file(renderer, path) for path in paths]
    accepted = [require_accepted(corpus, path) for corpus, path in zip(corpora, paths, strict=True)]
    if events is not None:
        train, heldout = (len(records) for records in accepted)
        markers = sum(corpus.markers for corpus in corpora)
        events.send("data", train=train, heldout=heldout, rejected=rejections(corpora), markers=markers)
    return accepted


def answer_evaluate(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """The `evaluate` request."""
    spec = parse_spec(request["spec"])
    [heldout] = render_for(spec, request["tokenizer"], [request["heldout"]], None)
    with ExitStack() as stack:
        context = stack.enter_context(open_context(request["context"]))
        model = stack.enter_context(load_model(context, request["model"]))
        adapter = None
        if request["adapter"] is not None:
            check_adapter_config(request["adapter"], spec)
            adapter = stack.enter_context(load_adapter(context, request["adapter"], model.config, spec))
        with located("evaluation"):
            result = evaluate(model, adapter, heldout, spec.micro_batch)
    events.send("evaluation", **result.members(0))
    return {}


def answer_train(request: dict[str, Any], events: Events, ended: Callable[[], bool]) -> dict[str, Any]:
    """The `train` request; the members of its `done`. `ended`: whether stdin has."""
    spec = parse_spec(request["spec"])
    _check_stop(request, spec, 0)
    with open_context(request["context"]) as context:
        train, heldout = render_for(
            spec, request["tokenizer"], [request["train"], request["heldout"]], events
        )
        with load_model(context, request["model"]) as model, ExitStack() as stack:
            adapter_config = check_adapter_config(request["adapter"], spec)
            start, adapter, moments = begin(context, request, model.config, spec, stack)
            _check_stop(request, spec, start)
            scope = temporaries_of(request["release"])
            learner = stack.enter_context(Learner(context, spec, model, adapter, moments, train, scope))
            run = _Run(request, spec, model, adapter, moments, heldout, adapter_config, events, scope)
            done = run.updates(learner, start, ended)
            peak = context.memory().peak_bytes
    if request["release"] == "collector":
        gc.collect()  # what the last updates dropped is still this trainer's
    return {**done, "device_bytes_peak": peak, "handles_live": process_memory().live_handles}


def begin(
    context: Context, request: dict[str, Any], config: Config, spec: Spec, stack: ExitStack
) -> tuple[int, Adapter, Moments]:
    """The update to go on from, adapter and moments, closed with `stack`. Raises Failure."""
    if request["resume_from"] is not None:
        start, adapter, moments = resume(
            context, request["resume_from"], config, spec, request["spec_digest"]
        )
        stack.enter_context(adapter)
        stack.enter_context(moments)
        return start, adapter, moments
    adapter = stack.enter_context(load_adapter(context, request["adapter"], config, spec))
    with located("optimizer"):
        moments = stack.enter_context(make_moments(context, adapter_shapes(config, spec)))
    return 0, adapter, moments


def _check_stop(request: dict[str, Any], spec: Spec, start: int) -> None:
    stop = request["stop_after"]
    if stop is not None and not start < stop <= spec.updates:
        raise Failure("request", f"is {stop}, must be above {start} and at most {spec.updates}", "stop_after")
    if start >= spec.updates:
        raise Failure("request", f"is at update {start}, the last is {spec.updates}", "resume_from")


class _Run:
    """The loop over updates, and what it does between them."""

    def __init__(  # noqa: PLR0913, PLR0917 (one run's parts)
        self,
        request: dict[str, Any],
        spec: Spec,
        model: Model,
        adapter: Adapter,
        moments: Moments,
        heldout: Sequence[Rendered],
        adapter_config: bytes,
        events: Events,
        scope: type[Temporaries],
    ) -> None:
        self._request, self._spec, self._model, self._adapter = request, spec, model, adapter
        self._moments, self._heldout, self._adapter_config = moments, heldout, adapter_config
        self._events, self._scope = events, scope
        self._last = spec.updates if request["stop_after"] is None else request["stop_after"]

    def updates(self, learner: Learner, start: int, ended: Callable[[], bool]) -> dict[str, Any]:
        """Updates start + 1 … the last; members of `done`."""
        spec, output = self._spec, self._request["output"]
        prepare_output(output, [k for k in range(start + 1, self._last + 1) if self._saves(k)])
        if self._request["resume_from"] is None:
            self._evaluate(0)
        finished = start
        with _schedule(self._request["schedule"]) as schedule:
            for k in range(start + 1, self._last + 1):
                if ended():
                    break
                with located(f"update {k}"):
                    step = schedule.run(learner.run, k)
                self._send_step(k, step)
                if k % spec.evaluate_every == 0 or k == spec.updates:
                    self._evaluate(k)
                if self._saves(k):
                    self._save(k)
                finished = k
        return {"step": finished, "stopped": finished < spec.updates}

    def _saves(self, k: int) -> bool:
        return k % self._spec.save_every == 0 or k in (self._spec.updates, self._request["stop_after"])

    def _send_step(self, k: int, step: Step) -> None:
        self._events.send(
            "step",
            step=k,
            epoch=step.epoch,
            records=step.records,
            tokens=step.tokens,
            labels=step.labels,
            **with_bits(loss=step.loss, gradient_norm=step.gradient_norm),
            clipped=step.clipped,
            **with_bits(learning_rate=step.learning_rate),
            batch_digest=step.batch_digest,
            milliseconds=step.milliseconds,
        )

    def _evaluate(self, k: int) -> None:
        with located(f"evaluation {k}"):
            result = evaluate(self._model, self._adapter, self._heldout, self._spec.micro_batch, self._scope)
        self._events.send("evaluation", **result.members(k))
        if not math.isfinite(result.loss):
            raise Failure("non_finite", f"evaluation of update {k} is {result.loss}", f"update {k}")

    def _save(self, k: int) -> None:
        request = self._request
        path = save(
            request["output"], k, self._adapter, self._moments, self._adapter_config, request["spec_digest"]
        )
        self._events.send(
            "checkpoint",
            step=k,
            path=str(path),
            adapter_digest=self._adapter.digest(),
            optimizer_digest=self._moments.digest(),
        )


class _Schedule(Protocol):
    def run(self, update: Callable[[int], Step], k: int) -> Step: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def _schedule(word: str) -> _Schedule:
    return _Migrating() if word == "migrating" else _Pinned()


class _Pinned:
    """Every update on the calling thread."""

    def run(self, update: Callable[[int], Step], k: int) -> Step:
        return update(k)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


class _Migrating:
    """Each update on a new thread, which then stays in a gate until eight updates later has begun, so that
    its OS thread cannot serve another."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Thread, Gate]] = deque()

    def run(self, update: Callable[[int], Step], k: int) -> Step:
        result: Future[Step] = Future()
        gate, begun = Gate(), Future[None]()

        def task() -> None:
            begun.set_result(None)
            try:
                result.set_result(update(k))
            except BaseException as error:
                result.set_exception(error)
            gate.wait()

        thread = Thread(target=task, name=f"update-{k}")
        self._waiting.append((thread, gate))
        thread.start()
        begun.result()
        if len(self._waiting) > MIGRATION_LAG:
            self._let_go()
        return result.result()

    def _let_go(self) -> None:
        thread, gate = self._waiting.popleft()
        with gate:
            gate.open()
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        while self._waiting:
            self._let_go()
