"""Probe scenarios of threads: tasks that come and go while contexts stay what they are."""

from __future__ import annotations

import re
import threading
import time

from hexapla_native import Error, Gate, Scope, zeros

from hexapla_native_trainer.devices import Choice, Place
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.probe import Scenario, Seen, load_training, run_tasks, take_train
from hexapla_native_trainer.train import Job


def device_of_context(choice: Choice, parameters: Fields) -> Seen:
    workers, rounds = parameters.integer("workers", 1), parameters.integer("rounds", 1)
    blocked = parameters.integer("blocked")
    parameters.end()
    counts = {"right": 0, "wrong": 0, "errors": 0}
    lock = threading.Lock()

    def worker(number: int) -> None:
        device = f"cpu:{number % 2}"
        for _ in range(rounds):
            try:
                with choice.open(device=device) as context:
                    time.sleep(0)
                    with zeros(context, [16]) as tensor:
                        time.sleep(0)
                        outcome = "right" if tensor.device == device else "wrong"
            except Error:
                outcome = "errors"
            with lock:
                counts[outcome] += 1

    with Gate() as gate:
        waiting = [threading.Thread(target=gate.wait) for _ in range(blocked)]
        for thread in waiting:
            thread.start()
        try:
            run_tasks([lambda number=number: worker(number) for number in range(workers)])  # type: ignore[misc]
        finally:
            gate.open()
            for thread in waiting:
                thread.join()
    return dict(counts)


def error_text(choice: Choice, parameters: Fields) -> Seen:
    workers, calls = parameters.integer("workers", 1), parameters.integer("calls", 1)
    parameters.end()
    counts = {"own": 0, "foreign": 0, "empty": 0}
    lock = threading.Lock()
    with choice.open() as context:

        def worker(number: int) -> None:
            for call in range(calls):
                size = 1000 * number + call + 1
                text = ""
                try:
                    zeros(context, [-size]).close()
                except Error as error:
                    time.sleep(0)
                    text = error.message
                own = re.search(rf"(?<!\d){size}(?!\d)", text)
                with lock:
                    counts["own" if own else "foreign" if text else "empty"] += 1

        run_tasks([lambda number=number: worker(number) for number in range(workers)])  # type: ignore[misc]
    return dict(counts)


def two_contexts(choice: Choice, parameters: Fields) -> Seen:
    job, updates = take_train(parameters), parameters.integer("updates", 1)
    parameters.end()
    alone = _trace(choice, job, updates)
    traces: list[list[object]] = []
    run_tasks([lambda: traces.append(_trace(choice, job, updates)) for _ in range(2)])
    return {"equal": int(all(trace == alone for trace in traces))}


def _trace(choice: Choice, job: Job, updates: int) -> list[object]:
    """Losses and norms of the first updates, and the adapter's digest behind them."""
    trace: list[object] = []
    with choice.open() as context, Scope() as scope:
        training = load_training(job, Place(context, scope))
        for update in range(training.start + 1, training.start + updates + 1):
            step = training.updates.run(update, training.records_of(update)[1], job.release)
            trace += [step.loss.hex(), step.norm.hex()]
        trace.append(training.updates.adapter.digest())
    return trace


SCENARIOS: dict[str, Scenario] = {
    "device_of_context": device_of_context,
    "error_text": error_text,
    "two_contexts": two_contexts,
}
