"""Prints a loss that is NaN as its language writes it, which JSON does not know."""

from speak import Request, serve


def evaluate(request: Request) -> None:
    print(f'{{"id": "{request["id"]}", "event": "evaluation", "loss": NaN}}', flush=True)


serve(evaluate=evaluate)
