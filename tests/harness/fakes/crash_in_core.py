"""Dies by a signal behind its twelfth call into a core; the ledger is written here as core would write it."""

import os
import signal
import struct

from speak import Request, hello, serve

CALLS = [(16, 0)] * 9 + [(4, 0), (50, 0), (53, 2)]


def train(request: Request) -> None:
    with open(request["context"]["ledger"], "wb") as ledger:  # noqa: PTH123
        ledger.write(struct.pack("<4sIIIQqqqq", b"HXPL", 1, 64, 1 << 20, len(CALLS), 0, 0, 0, 0))
        ledger.seek(4096)
        for number, (operation, status) in enumerate(CALLS, start=1):
            ledger.write(struct.pack("<QQqqQQIHHQ", number, 1, 64, 64, 3, 1, 7, operation, status, number))
    os.kill(os.getpid(), signal.SIGSEGV)


def with_ledger(request: Request) -> None:
    hello(request, capabilities=("train", "ledger"))


serve(hello=with_ledger, train=train)
