"""Case J1: 1 MiB on stderr before the first line, 5,000 lines of 2 KiB, all of it right."""

import json
import sys

from speak import Request, say, serve

LINE_BYTES = 2048

sys.stderr.write("e" * (1 << 20))


def render(request: Request) -> None:
    event = {"id": request["id"], "event": "record", "record": "00000", "rejected": ""}
    reason = "r" * (LINE_BYTES - len(json.dumps(event)) - 1)
    for number in range(5000):
        say(request, "record", record=f"{number:05d}", rejected=reason)
    say(request, "done", accepted=0, rejected={reason: 5000}, markers=0)


serve(render=render)
