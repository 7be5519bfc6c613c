"""What scenarios share: contexts as the request says, statuses as text, a prepared training run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from hexapla_core.safe import Context, HexaplaError, Tensor
from hexapla_core.trainer.adapter import Adapter, Moments
from hexapla_core.trainer.model import Model, load_model
from hexapla_core.trainer.render import Rendered
from hexapla_core.trainer.spec import Spec, parse_spec
from hexapla_core.trainer.train import begin, open_context, render_for
from hexapla_core.trainer.update import Learner

OK = "HXP_OK"
NOT_AVAILABLE = "not available"

Choice = dict[str, Any]
Parameters = dict[str, Any]
Seen = dict[str, int | float | str]


class Skipped(Exception):
    """What this trainer does not know or cannot do, and why."""


@dataclass(frozen=True)
class Scenario:
    """How a scenario is played, and the types of its parameters (letters as in `requests`)."""

    play: Callable[[Choice, Parameters], Seen]
    parameters: dict[str, str] = field(default_factory=dict)


def status_of(call: Callable[[], object]) -> str:
    """The status that a call ends with, by its name."""
    try:
        call()
    except HexaplaError as error:
        return error.status
    return OK


def distinct(statuses: Sequence[str]) -> str:
    """Statuses in order of first appearance, comma-separated."""
    return ",".join(dict.fromkeys(statuses))


def shown(tensor: Tensor) -> str:
    """The values of a tensor, flat, as `1 2 3 4`."""
    return " ".join(f"{value:g}" for value in tensor.read().cast("B").cast("f"))


@dataclass(frozen=True)
class Prepared:
    """A train request with its files read: what several runs share."""

    request: Parameters
    spec: Spec
    records: list[Rendered]

    @classmethod
    def read(cls, request: Parameters) -> Prepared:
        """Check the spec and render the records. Raises Failure."""
        spec = parse_spec(request["spec"])
        paths = [request["train"], request["heldout"]]
        records, _ = render_for(spec, request["tokenizer"], paths, None)
        return cls(request, spec, records)

    @contextmanager
    def model(self, choice: Choice) -> Iterator[tuple[Context, Model]]:
        """A context and the model on it."""
        with open_context(choice) as context, load_model(context, self.request["model"]) as model:
            yield context, model

    @contextmanager
    def learner(self, context: Context, model: Model) -> Iterator[tuple[Learner, Adapter, Moments]]:
        """Adapter, gradients and moments, ready for update 1."""
        with ExitStack() as stack:
            _, adapter, moments = begin(context, self.request, model.config, self.spec, stack)
            yield (
                stack.enter_context(Learner(context, self.spec, model, adapter, moments, self.records)),
                adapter,
                moments,
            )
