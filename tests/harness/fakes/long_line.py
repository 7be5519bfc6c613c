"""Case J1: 300 KiB without a newline, which comes half a second later; all of it right."""

import json
import sys
import time

from speak import Request, say, serve


def render(request: Request) -> None:
    event = {"id": request["id"], "event": "record", "record": "a", "rejected": "r" * (300 << 10)}
    sys.stdout.write(json.dumps(event))
    sys.stdout.flush()
    time.sleep(0.5)
    print(flush=True)
    say(request, "done", accepted=0, rejected={"r" * (300 << 10): 1}, markers=0)


serve(render=render)
