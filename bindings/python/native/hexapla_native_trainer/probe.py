"""What the probe scenarios share: their form, tasks, and a loaded training. Separate so that the four
files of scenarios do not import each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from hexapla_native import Error, process_memory

from hexapla_native_trainer.devices import Choice, Place
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.train import Job, Training, render_both, take_job

Seen = dict[str, float | str]
Scenario = Callable[[Choice, Fields], Seen]
NOT_AVAILABLE = "not available"


def take_train(parameters: Fields) -> Job:
    return take_job(Fields(parameters.take("train"), "request", "parameters.train"))


def load_training(job: Job, place: Place) -> Training:
    train, _ = render_both(job)
    return Training(job, place, train.accepted)


def run_tasks(tasks: Iterable[Callable[[], None]]) -> None:
    """Each on a thread of its own, all at once; the first error of any is raised at the end."""
    errors: list[BaseException] = []

    def guarded(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:  # raised again on the caller's thread
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def live_bytes() -> int:
    return process_memory().live_bytes


class Statuses:
    """Distinct status names in order of first appearance."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._lock = threading.Lock()

    def of(self, call: Callable[[], object]) -> str:
        """Make the call and note how it ended."""
        try:
            call()
            name = "HXP_OK"
        except Error as error:
            name = error.status
        with self._lock:
            self._names[name] = None
        return name

    def __str__(self) -> str:
        return ",".join(self._names)
