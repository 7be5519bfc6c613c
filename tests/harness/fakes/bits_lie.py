"""Says a loss and the bits of another."""

from speak import Request, say, serve

BITS = "0x3ff0000000000000"


def evaluate(request: Request) -> None:
    numbers = {"loss": 2.0, "loss_bits": BITS, "total": 1.0, "total_bits": BITS}
    say(
        request,
        "evaluation",
        step=0,
        adapter=False,
        labels=1,
        record_nll=[1.0],
        adapter_digest=None,
        **numbers,
    )
    say(request, "done")


serve(evaluate=evaluate)
