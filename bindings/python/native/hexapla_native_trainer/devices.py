"""The `context` of a request. Separate because a probe makes several contexts from one choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hexapla_native import Checkpoint, Context, Scope, Tensor, collect, zeros

from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.refusal import At


@dataclass(frozen=True)
class Place:
    """Where tensors of some length of life are made, and who closes them together."""

    context: Context
    scope: Scope

    def zeros(self, shape: Sequence[int]) -> Tensor:
        return self.scope.keep(zeros(self.context, shape))

    def read(self, checkpoint: Checkpoint, name: str) -> Tensor:
        """One tensor. Raises Refusal that names it."""
        with At(name):
            return self.scope.keep(checkpoint.read(name, self.context))


@dataclass(frozen=True)
class Choice:
    """What a request says of its context."""

    device: str
    threads: int
    memory_limit: int
    spill: bool
    ledger: str | None

    def open(
        self,
        *,
        device: str | None = None,
        memory_limit: int | None = None,
        owner_thread: bool = False,
        pressure_hook: Callable[[int, int, int], object] | None = collect,
    ) -> Context:
        """A context as the request says, with the differences given. Raises Refusal with core's status."""
        with At("context"):
            return Context(
                self.device if device is None else device,
                threads=self.threads,
                memory_limit=self.memory_limit if memory_limit is None else memory_limit,
                spill=self.spill,
                owner_thread=owner_thread,
                ledger=self.ledger,
                pressure_hook=pressure_hook,
            )


def take_context(fields: Fields) -> Choice:
    inner = Fields(fields.take("context"), "request", "context")
    choice = Choice(
        inner.string("device"),
        inner.integer("threads", 0, 2**32 - 1),
        inner.integer("memory_limit"),
        inner.boolean("spill"),
        inner.string_or_null("ledger"),
    )
    inner.end()
    return choice
