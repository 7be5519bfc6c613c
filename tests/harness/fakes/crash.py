"""Dies by a signal in the middle of a request."""

import os
import signal

from speak import Request, serve


def render(_request: Request) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


serve(render=render)
