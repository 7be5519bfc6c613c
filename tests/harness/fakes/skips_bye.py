"""Answers bye by `skipped`, which only other requests may end in."""

from speak import Request, say, serve


def refuse(request: Request) -> None:
    say(request, "skipped", reason="it has no time")


serve(bye=refuse)
