"""The `operators` request: single operations on given values, forward and backward."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from hexapla_core.safe import (
    Checkpoint,
    Context,
    HexaplaError,
    Tape,
    Tensor,
    ops,
    optimizer,
    write_checkpoint,
)
from hexapla_core.trainer.events import Events
from hexapla_core.trainer.failure import located
from hexapla_core.trainer.train import open_context

Attributes = dict[str, Any]


class CaseError(Exception):
    """A case that cannot be run as it is written; the text says why."""


@dataclass(frozen=True)
class Op:
    """How an op is called: how many inputs, and the call on a tape."""

    inputs: int
    call: Callable[[Tape | None, Sequence[Tensor], Attributes], Tensor]


def _numbers(attributes: Attributes, name: str) -> array[int]:
    try:
        return array("i", attributes[name])
    except (TypeError, OverflowError):
        raise CaseError(f"{name} must be a list of 32-bit integers") from None


OPS: dict[str, Op] = {
    "embedding": Op(1, lambda t, x, a: ops.embedding(t, x[0], _numbers(a, "ids"))),
    "rms_norm": Op(2, lambda t, x, a: ops.rms_norm(t, x[0], x[1], a["epsilon"])),
    "linear": Op(2, lambda t, x, a: ops.linear(t, x[0], x[1])),
    "lora_linear": Op(4, lambda t, x, a: ops.lora_linear(t, x[0], x[1], x[2], x[3], a["scale"])),
    "rope": Op(1, lambda t, x, a: ops.rope(t, x[0], _numbers(a, "positions"), a["theta"])),
    "attention": Op(
        3, lambda t, x, a: ops.attention(t, x[0], x[1], x[2], _numbers(a, "starts"), causal=a["causal"])
    ),
    "swiglu": Op(2, lambda t, x, a: ops.swiglu(t, x[0], x[1])),
    "add": Op(2, lambda t, x, a: ops.add(t, x[0], x[1])),
    "scale": Op(1, lambda t, x, a: ops.scale(t, x[0], a["scale"])),
    "linear_cross_entropy": Op(
        2,
        lambda t, x, a: ops.linear_cross_entropy(t, x[0], x[1], _numbers(a, "rows"), _numbers(a, "targets")),
    ),
    "matmul": Op(2, lambda t, x, a: ops.matmul(t, x[0], x[1])),
    "softmax": Op(1, lambda t, x, a: ops.softmax(t, x[0])),
    "transpose": Op(1, lambda t, x, a: ops.transpose(t, x[0])),
    "reshape": Op(1, lambda t, x, a: ops.reshape(t, x[0], a["shape"])),
    "reduce_sum": Op(1, lambda t, x, a: ops.reduce_sum(t, x[0], a["axis"])),
}


def answer_operators(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """Run every case; a failing one says so and the next goes on."""
    outputs: dict[str, Tensor] = {}
    with open_context(request["context"]) as context, ExitStack() as stack:
        with located(request["file"]):
            checkpoint = stack.enter_context(Checkpoint(request["file"]))
        for case in request["cases"]:
            with ExitStack() as temporary:
                try:
                    results = _Case(context, checkpoint, case, temporary).run()
                    for name, tensor in results.items():
                        outputs[name] = stack.enter_context(tensor.copy())
                    ok, message = True, ""
                except KeyError as error:
                    ok, message = False, f"missing attribute {error.args[0]}"
                except (HexaplaError, CaseError, TypeError, ValueError, OverflowError) as error:
                    ok, message = False, str(error)
            events.send("case", case=case["case"], ok=ok, message=message)
        with located(request["output"]):
            write_checkpoint(request["output"], outputs)
    return {"cases": len(request["cases"])}


class _Case:
    """One case: its inputs from the file, its results by their names in the output."""

    def __init__(
        self, context: Context, checkpoint: Checkpoint, case: dict[str, Any], stack: ExitStack
    ) -> None:
        self._context, self._checkpoint, self._stack = context, checkpoint, stack
        self._name, self._op = case["case"], case["op"]
        self._attributes: Attributes = case["attributes"]
        self._inputs: list[str] = case["inputs"]
        self._gradients: list[str] = case["gradients"]

    def run(self) -> dict[str, Tensor]:
        """The results; they live as long as the stack."""
        buffers = [self._read(name) for name in self._inputs]
        if self._op in _OPTIMIZER_OPS:
            return self._optimizer(_OPTIMIZER_OPS[self._op], buffers)
        op = OPS.get(self._op)
        if op is None:
            raise CaseError(f"unknown op {self._op!r}")
        if len(buffers) != op.inputs:
            raise CaseError(f"{self._op} takes {op.inputs} inputs, got {len(buffers)}")
        tape = self._stack.enter_context(Tape(self._context)) if self._gradients else None
        if tape is not None:
            self._watch(tape, buffers)
        views = [self._view(tape, name, buffer) for name, buffer in zip(self._inputs, buffers, strict=True)]
        output = self._stack.enter_context(op.call(tape, views, self._attributes))
        results = {f"{self._name}.output": output}
        if tape is not None:
            incoming = self._view(None, "incoming", self._read("incoming"))
            tape.backward(output, incoming)
            for name in self._gradients:
                buffer = buffers[self._inputs.index(name)]
                gradient = self._stack.enter_context(tape.gradient(buffer))
                results[f"{self._name}.gradient.{name}"] = gradient
        return results

    def _watch(self, tape: Tape, buffers: Sequence[Tensor]) -> None:
        for name in self._gradients:
            if name not in self._inputs:
                raise CaseError(f"gradient of {name!r}, which is no input")
            tape.watch(buffers[self._inputs.index(name)])

    def _read(self, name: str) -> Tensor:
        index = self._checkpoint.find(f"{self._name}.{name}")
        return self._stack.enter_context(self._checkpoint.read(index, self._context))

    def _view(self, tape: Tape | None, name: str, buffer: Tensor) -> Tensor:
        """The input as the case sees it: strided where `strides` names it."""
        strides = self._attributes.get("strides", {}).get(name)
        if strides is None:
            return buffer
        shape = self._attributes["view"][name]
        offset = self._attributes.get("offset", {}).get(name, 0)
        return self._stack.enter_context(ops.as_strided(tape, buffer, shape, strides, offset))

    def _optimizer(
        self, call: Callable[[Sequence[Tensor], Attributes], float | None], buffers: list[Tensor]
    ) -> dict[str, Tensor]:
        """Ops that work in place, and the norm, which is a number."""
        prefix = f"{self._name}.output"
        norm = call(buffers, self._attributes)
        results = {}
        if self._op == "gradient_norm" and norm is not None:
            return {prefix: self._stack.enter_context(Tensor.of(self._context, [norm]))}
        if norm is not None:
            results[f"{prefix}.norm"] = self._stack.enter_context(Tensor.of(self._context, [norm]))
        names = ("p", "m", "v") if self._op == "adamw" else self._inputs
        changed = [buffers[0], *buffers[2:]] if self._op == "adamw" else buffers
        return {
            **results,
            **{f"{prefix}.{name}": tensor for name, tensor in zip(names, changed, strict=True)},
        }


def _clip(gradients: Sequence[Tensor], attributes: Attributes) -> float:
    norm = optimizer.gradient_norm(gradients)
    optimizer.clip(gradients, norm, attributes["clip_norm"])
    return norm


def _adamw(tensors: Sequence[Tensor], attributes: Attributes) -> None:
    if len(tensors) != 4:
        raise CaseError(f"adamw takes 4 inputs, got {len(tensors)}")
    options = optimizer.AdamW(**{name: attributes[name] for name in optimizer.AdamW.__dataclass_fields__})
    p, g, m, v = tensors
    optimizer.adamw_step(options, [p], [g], [m], [v])


_OPTIMIZER_OPS: dict[str, Callable[[Sequence[Tensor], Attributes], float | None]] = {
    "gradient_norm": lambda gradients, _: optimizer.gradient_norm(gradients),
    "clip": _clip,
    "adamw": _adamw,
}
