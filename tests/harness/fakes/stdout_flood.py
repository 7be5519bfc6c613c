"""Prints without ever ending its line."""

import sys

from speak import Request, serve


def render(_request: Request) -> None:
    while True:
        sys.stdout.write("x" * 65536)


serve(render=render)
