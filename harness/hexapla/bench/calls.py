"""What one call across the boundary costs a language, in nanoseconds.

Separate because it is measured by a probe, not by a run. Scenario `drop_in_loop` with tensors of 64 bytes
that are closed makes two core calls a turn, `tensor_create` and `tensor_release`, the way the language's
safe layer makes them: handle wrapped, status checked, owner registered and let go. Two requests of
different length are timed and the longer one's surplus is divided by its calls, so that the request, the
context and the start of the loop cancel. Core's own work in the two calls is the same for all: what a
language adds is the difference to `c`. The context has one worker and no ledger.
"""

from __future__ import annotations

from collections.abc import Sequence

from hexapla.bench.figures import Middle, middle
from hexapla.bench.sample import Unmeasured, context
from hexapla.process import Launch, Trainer
from hexapla.protocol import Error, Probe, Skipped

TENSOR_BYTES = 64
CALLS_A_TURN = 2
SCENARIO = "probe.drop_in_loop"


def call_ns(launch: Launch, turns: int, rounds: int) -> Middle:
    """Nanoseconds a call: median and interval over `rounds` pairs. Raises TrainerFailure, Unmeasured."""
    trainer = Trainer(launch)
    try:
        hello = trainer.hello()
        if isinstance(hello, Skipped):
            raise Unmeasured(f"skipped: {hello.reason}")
        if SCENARIO not in hello.capabilities:
            raise Unmeasured(f"it cannot do {SCENARIO}")
        _seconds(trainer, turns, "warm")  # a just-in-time compiler has met the loop
        surpluses = _surpluses(trainer, turns, rounds)
        trainer.close()
    finally:
        trainer.kill()
    return middle([seconds * 1e9 / (turns * CALLS_A_TURN) for seconds in surpluses])


def _surpluses(trainer: Trainer, turns: int, rounds: int) -> Sequence[float]:
    """Seconds that `turns` turns more take, once a round."""
    short = max(1, turns // 10)
    found = []
    for number in range(rounds):
        least = _seconds(trainer, short, f"short-{number}")
        found.append(_seconds(trainer, short + turns, f"long-{number}") - least)
    return found


def _seconds(trainer: Trainer, turns: int, request_id: str) -> float:
    answer = trainer.ask(
        "probe",
        request_id,
        scenario="drop_in_loop",
        parameters={"bytes": TENSOR_BYTES, "turns": turns, "close": 1},
        context=context(threads=1),
    )
    if isinstance(answer.end, Skipped):
        raise Unmeasured(f"skipped: {answer.end.reason}")
    if isinstance(answer.end, Error):
        raise Unmeasured(f"error {answer.end.status}: {answer.end.message}")
    seen = next(event.seen for event in answer.events if isinstance(event, Probe))
    if seen.get("turns") != turns:
        raise Unmeasured(f"{turns} turns were asked, {seen.get('turns')} done")
    return answer.seconds
