"""Answers somebody else's request."""

from speak import Request, say, serve


def render(request: Request) -> None:
    say({**request, "id": "nobody"}, "done", accepted=0, rejected={}, markers=0)


serve(render=render)
