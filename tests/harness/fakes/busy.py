"""Works for three seconds without a word: slow, but not silent."""

import time

from speak import Request, render, serve


def work(request: Request) -> None:
    end = time.monotonic() + 3
    while time.monotonic() < end:
        pass
    render(request)


serve(render=work)
