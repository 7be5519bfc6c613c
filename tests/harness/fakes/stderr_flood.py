"""Logs without end."""

import sys

from speak import Request, serve


def render(_request: Request) -> None:
    while True:
        sys.stderr.write("x" * 65535 + "\n")


serve(render=render)
