"""Case J1: stdout closed, then two more seconds of work."""

import os
import time

from speak import Request, serve


def render(_request: Request) -> None:
    os.close(1)
    time.sleep(2)
    os._exit(7)


serve(render=render)
