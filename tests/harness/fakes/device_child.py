"""Case J2: a child without its name holds 256 MiB of the fake device and outlives it."""

import os
import subprocess
import sys

from speak import serve

HOLD = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1], str(os.getpid())).write_text(str(256 << 20))
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""
DEVICE, SECONDS = os.environ["FAKE_DEVICE"], os.environ["FAKE_DEVICE_SECONDS"]

child = subprocess.Popen(
    [sys.executable, "-c", HOLD, DEVICE, SECONDS],
    env={},
    start_new_session=True,
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
)
assert child.stdout is not None
child.stdout.readline()
serve()
