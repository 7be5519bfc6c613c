"""One operation through the core: forward and backward by name, with everything released at the end. Shared
by the tests of operations, tape and optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

IDS = ("ids", "positions", "starts", "rows", "targets")


def arguments(name: str, attributes: dict[str, Any]) -> list[Any]:
    """The attributes as hxp_<name> takes them, in its order: id arrays, then their count, then numbers."""
    arrays = [np.asarray(attributes[key], np.int32).tolist() for key in IDS if key in attributes]
    given: list[Any] = [*arrays, len(arrays[0])] if arrays else []
    return given + [
        attributes[key]
        for key in ("epsilon", "scale", "theta", "causal", "factor", "axis")
        if key in attributes
    ]


def apply(core: Any, tape: int, name: str, tensors: Sequence[int], attributes: dict[str, Any]) -> int:
    return core.make(name, tape, *tensors, *arguments(name, attributes))


def run(  # noqa: PLR0913, PLR0917 (an operation's own arguments come on top)
    core: Any,
    context: int,
    name: str,
    inputs: Sequence[Any],
    incoming: Any = None,
    watched: Sequence[int] | None = None,
    **attributes: Any,
) -> tuple[Any, list[Any]]:
    """The output and the gradient of each input (None where it is not in `watched`; all are by default)."""
    tensors = [core.tensor(context, values) for values in inputs]
    tape = core.make("tape_create", context)
    for number in range(len(tensors)) if watched is None else watched:
        core.call("tape_watch", tape, tensors[number], 0)
    out = apply(core, tape, name, tensors, attributes)
    result = core.read(out)
    given = 0 if incoming is None else core.tensor(context, incoming)
    core.call("tape_backward", tape, out, given)
    gradients: list[Any] = [None] * len(tensors)
    for number in range(len(tensors)) if watched is None else watched:
        gradient = core.make("tape_gradient", tape, tensors[number])
        gradients[number] = core.read(gradient)
        core.release("tensor", gradient)
    core.release("tensor", *tensors, out, given)
    core.release("tape", tape)
    return result, gradients
