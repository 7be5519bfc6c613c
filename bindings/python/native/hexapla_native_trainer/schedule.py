"""On which thread an update runs. `pinned`: on the caller's. `migrating`: each on a thread of its own,
which then stays in a blocking native call until eight updates later have begun, so that no thread runs
two.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from hexapla_native import Gate

BEHIND = 8
Result = TypeVar("Result")


class Pinned:
    """Everything on one thread."""

    def run(self, task: Callable[[], Result]) -> Result:
        return task()

    def close(self) -> None:
        """Nothing waits."""


class Migrating:
    """Every task on a new thread, the last eight of which are still blocked."""

    def __init__(self) -> None:
        self._blocked: deque[tuple[threading.Thread, Gate]] = deque()

    def run(self, task: Callable[[], Result]) -> Result:
        results: list[Result] = []
        errors: list[BaseException] = []
        begun, ended = threading.Event(), threading.Event()
        gate = Gate()

        def body() -> None:
            begun.set()
            try:
                results.append(task())
            except BaseException as error:  # raised again on the thread that waits for it
                errors.append(error)
            ended.set()
            gate.wait()

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        self._blocked.append((thread, gate))
        begun.wait()
        while len(self._blocked) > BEHIND:
            self._let_go()
        ended.wait()
        if errors:
            raise errors[0]
        return results[0]

    def close(self) -> None:
        while self._blocked:
            self._let_go()

    def _let_go(self) -> None:
        thread, gate = self._blocked.popleft()
        gate.open()
        thread.join()
        gate.close()


def schedule_of(name: str) -> Pinned | Migrating:
    return Migrating() if name == "migrating" else Pinned()
