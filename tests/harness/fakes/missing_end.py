"""Ends early, with exit status 0, as if all were well."""

import sys

from speak import Request, say, serve


def render(request: Request) -> None:
    say(request, "record", record="a", rejected="empty")
    sys.exit(0)


serve(render=render)
