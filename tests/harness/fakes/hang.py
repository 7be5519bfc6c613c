"""Falls silent: no event, no CPU time, and it ignores a polite request to stop."""

import signal
import time

from speak import Request, serve

signal.signal(signal.SIGTERM, signal.SIG_IGN)


def wait_for_ever(_request: Request) -> None:
    while True:
        time.sleep(60)


serve(render=wait_for_ever)
