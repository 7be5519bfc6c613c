"""Case J1: 300 KiB without a newline, then a proper exit."""

import os
import sys

from speak import Request, serve


def render(_request: Request) -> None:
    sys.stdout.write("x" * (300 << 10))
    sys.stdout.flush()
    os._exit(5)


serve(render=render)
