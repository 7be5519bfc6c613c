"""Dies by a signal, and says so where an event belongs, as a Java virtual machine does."""

import os
import signal
import time

from speak import Request, serve


def render(_request: Request) -> None:
    print("# A fatal error has been detected", flush=True)
    time.sleep(0.3)
    print("# SIGSEGV (0xb) at pc=0x0", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


serve(render=render)
