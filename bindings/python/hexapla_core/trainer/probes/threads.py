"""Threads: scenarios A1, A2 and two contexts at once. A task is a Python thread."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from hexapla_core.safe import Gate, HexaplaError, InvalidArgument, Tensor
from hexapla_core.trainer.events import bits
from hexapla_core.trainer.probes.common import Choice, Parameters, Prepared, Scenario, Seen
from hexapla_core.trainer.train import open_context


def yield_now() -> None:
    """Let another thread have the interpreter."""
    time.sleep(0)


def device_of_context(choice: Choice, parameters: Parameters) -> Seen:
    """A1: a device chosen on one thread is the one that buffers lie on."""
    seen: Seen = {"right": 0, "wrong": 0, "errors": 0}

    def round_of(worker: int) -> str:
        device = f"cpu:{worker % 2}"
        try:
            with open_context({**choice, "device": device}) as context:
                yield_now()
                with Tensor(context, (16,)) as tensor:
                    yield_now()
                    return "right" if tensor.device == device else "wrong"
        except Exception:
            return "errors"

    def work(worker: int) -> list[str]:
        return [round_of(worker) for _ in range(parameters["rounds"])]

    workers, blocked = parameters["workers"], parameters["blocked"]
    with Gate() as gate, ThreadPoolExecutor(max(1, workers + blocked)) as pool:
        try:
            waiting = [pool.submit(gate.wait) for _ in range(blocked)]
            for answers in pool.map(work, range(workers)):
                for answer in answers:
                    seen[answer] = int(seen[answer]) + 1
        finally:
            gate.open()
        for future in waiting:
            future.result()
    return seen


def error_text(choice: Choice, parameters: Parameters) -> Seen:
    """A2: the text of an error belongs to the call that failed."""
    with open_context(choice) as context:

        def text_of(number: int) -> str:
            try:
                Tensor(context, (-number,)).close()
            except InvalidArgument as error:
                yield_now()
                return str(error)
            except HexaplaError:
                return ""
            return ""

        def work(worker: int) -> list[str]:
            answers = []
            for call in range(parameters["calls"]):
                number = 1000 * worker + call + 1
                text = text_of(number)
                own = re.search(rf"(?<!\d){number}(?!\d)", text)
                answers.append("empty" if not text else "own" if own else "foreign")
            return answers

        workers = parameters["workers"]
        with ThreadPoolExecutor(max(1, workers)) as pool:
            answers = [answer for part in pool.map(work, range(workers)) for answer in part]
    return {word: answers.count(word) for word in ("own", "foreign", "empty")}


def two_contexts(choice: Choice, parameters: Parameters) -> Seen:
    """Two runs at once equal one alone, bit by bit."""
    prepared = Prepared.read(parameters["train"])

    def run() -> list[str]:
        with ExitStack() as stack:
            context, model = stack.enter_context(prepared.model(choice))
            learner, adapter, _ = stack.enter_context(prepared.learner(context, model))
            seen = []
            for update in range(1, parameters["updates"] + 1):
                step = learner.run(update)
                seen += [bits(step.loss), bits(step.gradient_norm)]
            return [*seen, adapter.digest()]

    alone = run()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(run), pool.submit(run)
        return {"equal": int(first.result() == alone == second.result())}


SCENARIOS = {
    "device_of_context": Scenario(device_of_context, {"workers": "i", "rounds": "i", "blocked": "i"}),
    "error_text": Scenario(error_text, {"workers": "i", "calls": "i"}),
    "two_contexts": Scenario(two_contexts, {"train": "o", "updates": "i"}),
}
