"""A fake that trains on paper: an update every 50 ms, until its input ends. Its events are right."""

import os
import select
import struct
import sys
import time

from speak import Request, bye, say, serve


def bits(value: float) -> str:
    return "0x" + struct.pack(">d", value).hex()


def evaluation(request: Request, step: int) -> None:
    numbers = {"loss": 1.0, "loss_bits": bits(1.0), "total": 2.0, "total_bits": bits(2.0)}
    say(
        request,
        "evaluation",
        step=step,
        adapter=True,
        labels=2,
        record_nll=[2.0],
        adapter_digest=None,
        **numbers,
    )


def train(request: Request) -> None:
    updates = request["spec"]["updates"]
    say(request, "data", train=4, heldout=1, rejected={}, markers=0)
    evaluation(request, 0)
    for update in range(1, updates + 1):
        time.sleep(0.05)
        said = {"loss": 1.0 / update, "gradient_norm": 1.0, "learning_rate": 0.1}
        said |= {f"{name}_bits": bits(value) for name, value in said.items()}
        counts = {"epoch": 0, "records": 4, "tokens": 9, "labels": 2, "batch_digest": "0" * 16}
        say(request, "step", step=update, clipped=False, milliseconds=50.0, **counts, **said)
        if select.select([0], [], [], 0)[0] and not os.read(0, 1):
            say(request, "done", step=update, stopped=True, device_bytes_peak=0, handles_live=0)
            bye({"id": ""})
            sys.exit(0)
    evaluation(request, updates)
    digests = {"adapter_digest": "0" * 64, "optimizer_digest": "0" * 64}
    say(request, "checkpoint", step=updates, path="/x", **digests)
    say(request, "done", step=updates, stopped=False, device_bytes_peak=0, handles_live=0)


def main() -> None:
    serve(train=train)


if __name__ == "__main__":
    main()
