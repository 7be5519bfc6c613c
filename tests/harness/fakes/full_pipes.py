"""Case J1: 1 MiB on stderr before the first line, 5,000 lines of 2 KiB, all of it right."""

import sys

from speak import Request, say, serve

sys.stderr.write("e" * (1 << 20))


def render(request: Request) -> None:
    for number in range(5000):
        say(request, "record", record=f"{number:05d}", rejected="r" * 1960)
    say(request, "done", accepted=0, rejected={"r" * 1960: 5000}, markers=0)


serve(render=render)
