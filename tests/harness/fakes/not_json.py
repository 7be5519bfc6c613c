"""Prints a progress bar where an event belongs."""

from speak import Request, serve


def render(_request: Request) -> None:
    print("Rendering: 50%|#####", flush=True)


serve(render=render)
