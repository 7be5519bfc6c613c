"""Adds a key of its own to an event."""

from speak import Request, say, serve


def render(request: Request) -> None:
    say(request, "done", accepted=0, rejected={}, markers=0, mood="fine")


serve(render=render)
