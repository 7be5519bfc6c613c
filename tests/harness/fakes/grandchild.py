"""Hangs, and so does its grandchild, which left the group and holds the pipes."""

import subprocess
import sys
import time

from speak import Request, serve


def wait_for_ever(_request: Request) -> None:
    child = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True).wait()"
    subprocess.Popen([sys.executable, "-c", child])
    while True:
        time.sleep(60)


serve(render=wait_for_ever)
