"""Closes stdout and works on without end: nobody will ever hear from it."""

import os

from speak import Request, serve


def render(_request: Request) -> None:
    os.close(1)
    while True:
        pass


serve(render=render)
