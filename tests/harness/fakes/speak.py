"""What every miniature trainer shares: reading requests, saying events, and right answers to the rest.

A fake is ten lines that are wrong in one known way; whatever it does not do wrong it does by `serve`.
"""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

Request = dict[str, Any]


def say(request: Request, event: str, **keys: Any) -> None:
    """One event for a request."""
    print(json.dumps({"id": request["id"], "event": event, **keys}), flush=True)


def hello(
    request: Request,
    protocol: int = 1,
    capabilities: Sequence[str] = ("render",),
    faults: Sequence[str] = (),
) -> None:
    """A right answer to hello, unless another protocol or a core's faults are given."""
    said: dict[str, Any] = {
        "implementation": "fake",
        "language": "Python",
        "runtime": "CPython",
        "stack": "other",
    }
    said |= {"core": None, "faults": list(faults), "capabilities": list(capabilities)}
    say(request, "hello", protocol=protocol, **said)
    say(request, "done")


def render(request: Request) -> None:
    """Two records, both right as far as the protocol goes."""
    say(request, "record", record="a", ids=[1, 2, 3], labels="011")
    say(request, "record", record="b", rejected="empty")
    say(request, "done", accepted=1, rejected={"empty": 1}, markers=0)


def bye(request: Request) -> None:
    """The last word."""
    say(request, "bye", handles_live=None, bytes_live=None)


def serve(**wrong: Callable[[Request], None]) -> None:
    """Answer requests until bye; `wrong` replaces the answer to one kind."""
    answers = {"hello": hello, "render": render, "bye": bye, **wrong}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["request"]
        if name in answers:
            answers[name](request)
        else:
            say(request, "skipped", reason="a fake cannot do this")
        if name == "bye":
            return
