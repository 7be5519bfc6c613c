"""The `operators` request: single operations on tensors of a file, forward and backward. Separate from
training: an op is asked here as it stands, strided views included.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import hexapla_native as hxp
import numpy as np
from hexapla_native import Checkpoint, Context, Error, Scope, Tape, Tensor

from hexapla_native_trainer.devices import take_context
from hexapla_native_trainer.events import Events
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.refusal import At, Refusal

Attributes = dict[str, Any]
Results = dict[str, Tensor]


def _ids(attributes: Attributes, key: str) -> Any:
    return np.array(attributes[key], np.int32)


Make = Callable[[Tape, list[Tensor], Attributes], Tensor]
OPERATIONS: dict[str, Make] = {
    "embedding": lambda t, x, a: hxp.embedding(t, x[0], _ids(a, "ids")),
    "rms_norm": lambda t, x, a: hxp.rms_norm(t, x[0], x[1], a["epsilon"]),
    "linear": lambda t, x, a: hxp.linear(t, x[0], x[1]),
    "lora_linear": lambda t, x, a: hxp.lora_linear(t, x[0], x[1], x[2], x[3], a["scale"]),
    "rope": lambda t, x, a: hxp.rope(t, x[0], _ids(a, "positions"), a["theta"]),
    "attention": lambda t, x, a: hxp.attention(t, x[0], x[1], x[2], _ids(a, "starts"), a["causal"]),
    "swiglu": lambda t, x, a: hxp.swiglu(t, x[0], x[1]),
    "add": lambda t, x, a: hxp.add(t, x[0], x[1]),
    "scale": lambda t, x, a: hxp.scale(t, x[0], a["scale"]),
    "linear_cross_entropy": lambda t, x, a: hxp.linear_cross_entropy(
        t, x[0], x[1], _ids(a, "rows"), _ids(a, "targets")
    ),
    "matmul": lambda t, x, a: hxp.matmul(t, x[0], x[1]),
    "softmax": lambda t, x, a: hxp.softmax(t, x[0]),
    "transpose": lambda t, x, a: hxp.transpose(t, x[0]),
    "reshape": lambda t, x, a: hxp.reshape(t, x[0], a["shape"]),
    "reduce_sum": lambda t, x, a: hxp.reduce_sum(t, x[0], a["axis"]),
}


class Case:
    """One case: its tensors as the file has them, and as the op sees them."""

    def __init__(self, value: Any, index: int) -> None:
        fields = Fields(value, "request", f"cases[{index}]")
        self.name, self.op = fields.string("case"), fields.string("op")
        attributes = fields.take("attributes")
        if not isinstance(attributes, dict):
            raise fields.refuse("attributes", "must be an object")
        self.attributes: Attributes = attributes
        self.inputs, self.gradients = fields.strings("inputs"), fields.strings("gradients")
        fields.end()

    def compute(self, file: Checkpoint, context: Context, scope: Scope) -> Results:
        """Results by their names behind the case's."""
        stored = {name: scope.keep(file.read(f"{self.name}.{name}", context)) for name in self.inputs}
        if self.op in ("gradient_norm", "clip", "adamw"):
            return self._after_backward(list(stored.values()), context, scope)
        if self.op not in OPERATIONS:
            raise ValueError(f"op {self.op!r} is unknown")
        tape = scope.keep(Tape(context))
        for name in self.gradients:
            tape.watch(stored[name])
        seen = [self._seen(name, stored[name], tape, scope) for name in self.inputs]
        output = scope.keep(OPERATIONS[self.op](tape, seen, self.attributes))
        results = {"output": output}
        if self.gradients:
            incoming = scope.keep(file.read(f"{self.name}.incoming", context))
            tape.backward(output, self._seen("incoming", incoming, None, scope))
            for name in self.gradients:
                results[f"gradient.{name}"] = scope.keep(tape.gradient(stored[name]))
        return results

    def _seen(self, name: str, tensor: Tensor, tape: Tape | None, scope: Scope) -> Tensor:
        """The tensor, or the strided view of it that the attributes ask for."""
        strides = self.attributes.get("strides", {}).get(name)
        if strides is None:
            return tensor
        shape = self.attributes["view"][name]
        offset = self.attributes.get("offset", {}).get(name, 0)
        return scope.keep(hxp.as_strided(tape, tensor, shape, strides, offset))

    def _after_backward(self, tensors: list[Tensor], context: Context, scope: Scope) -> Results:
        a = self.attributes
        if self.op == "adamw":
            p, g, m, v = tensors
            hxp.adamw_step(
                [p], [g], [m], [v],
                step=a["step"], learning_rate=a["learning_rate"], beta1=a["beta1"], beta2=a["beta2"],
                epsilon=a["epsilon"], weight_decay=a["weight_decay"],
            )  # fmt: skip
            return {"output.p": p, "output.m": m, "output.v": v}
        norm = hxp.gradient_norm(tensors)
        said = scope.keep(hxp.tensor(context, np.array([norm], np.float32)))
        if self.op == "gradient_norm":
            return {"output": said}
        hxp.gradient_clip(tensors, norm, a["clip_norm"])
        return {"output.norm": said, **{f"output.{n}": t for n, t in zip(self.inputs, tensors, strict=True)}}


def answer_operators(fields: Fields, events: Events) -> None:
    values = fields.take("cases")
    path, output = fields.string("file"), fields.string("output")
    choice = take_context(fields)
    fields.end()
    if not isinstance(values, list):
        raise Refusal("request", "cases: must be a list", "cases")
    cases = [Case(value, index) for index, value in enumerate(values)]
    with choice.open() as context, Scope() as kept:
        names: list[str] = []
        tensors: list[Tensor] = []
        with At(path):
            file = kept.keep(Checkpoint(path))
        for case in cases:
            with Scope() as scope:
                try:
                    results = case.compute(file, context, scope)
                except (Error, KeyError, TypeError, ValueError) as error:
                    message = (
                        error.message if isinstance(error, Error) else f"{type(error).__name__}: {error}"
                    )
                    events.send("case", case=case.name, ok=False, message=message)
                    continue
                for name, tensor in results.items():
                    names.append(f"{case.name}.{name}")
                    tensors.append(kept.keep(copy(tensor)))
            events.send("case", case=case.name, ok=True, message="")
        with At(output):
            hxp.write_checkpoint(output, names, tensors, [])
    events.send("done", cases=len(cases))
