"""The loop over requests: one at a time, each ended by exactly one event, and the exit status.

Separate from the answers: here nothing is known but which of them exists. Whatever an answer raises ends
its own request, and the next one is taken.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable
from typing import Any

from hexapla_core.safe import HexaplaError
from hexapla_core.trainer.events import Events
from hexapla_core.trainer.failure import Failure
from hexapla_core.trainer.hello import answer_abi, answer_hello, send_bye
from hexapla_core.trainer.lines import Lines, LineTooLong
from hexapla_core.trainer.load import answer_load, answer_render
from hexapla_core.trainer.operators import answer_operators
from hexapla_core.trainer.probes import Skipped, answer_probe
from hexapla_core.trainer.requests import REQUESTS, Unreadable, check_request, parse_request
from hexapla_core.trainer.train import answer_evaluate, answer_train

STDIN, STDOUT = 0, 1
EXIT_DONE, EXIT_ERROR, EXIT_UNREADABLE, EXIT_LIVE = 0, 1, 2, 3

Answer = Callable[[dict[str, Any], Events], dict[str, Any]]


def main() -> int:
    """Serve stdin until `bye` or its end; the exit status."""
    # What the imports made lives as long as the process; without it a collection takes microseconds.
    gc.collect()
    gc.freeze()
    return _Server(Lines(STDIN)).serve()


class _Server:
    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._status = EXIT_DONE
        self._answers: dict[str, Answer] = {
            "hello": answer_hello,
            "abi": answer_abi,
            "operators": answer_operators,
            "load": answer_load,
            "render": answer_render,
            "evaluate": answer_evaluate,
            "train": lambda request, events: answer_train(request, events, lines.ended),
            "probe": answer_probe,
        }

    def serve(self) -> int:
        farewell = ""
        while True:
            try:
                line = self._lines.next_line()
                if line is None:
                    break
                request = parse_request(line)
            except (LineTooLong, Unreadable) as error:
                self._error("", "request", str(error), "line", EXIT_UNREADABLE)
                continue
            if request["request"] == "bye" and self._accepts(request):
                farewell = request["id"]
                break
            if request["request"] != "bye":
                self._answer(request)
        if send_bye(Events(STDOUT, farewell)) != 0:
            self._status = EXIT_LIVE
        return self._status

    def _accepts(self, request: dict[str, Any]) -> bool:
        try:
            check_request(request)
        except Failure as failure:
            self._error(request["id"], failure.status, failure.message, failure.where)
            return False
        return True

    def _answer(self, request: dict[str, Any]) -> None:
        name, events = request["request"], Events(STDOUT, request["id"])
        if name not in REQUESTS:
            events.send("skipped", reason=f"unknown request {name!r:.60}")
            return
        if not self._accepts(request):
            return
        try:
            done = self._answers[name](request, events)
        except Skipped as skipped:
            events.send("skipped", reason=str(skipped))
        except Failure as failure:
            self._error(request["id"], failure.status, failure.message, failure.where)
        except HexaplaError as error:
            self._error(request["id"], error.status, str(error), name)
        except OSError as error:
            self._error(request["id"], "io", f"{error.strerror or error}", str(error.filename or name))
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self._error(request["id"], "internal", f"{type(error).__name__}: {error}", name)
        else:
            events.send("done", **done)

    def _error(
        self, request_id: str, status: str, message: str, where: str, exit_status: int = EXIT_ERROR
    ) -> None:
        Events(STDOUT, request_id).send("error", status=status, message=message, where=where)
        self._status = max(self._status, exit_status)
