"""Has one more event after the end."""

from speak import Request, render, say, serve


def render_and_more(request: Request) -> None:
    render(request)
    say(request, "record", record="c", rejected="empty")


serve(render=render_and_more)
