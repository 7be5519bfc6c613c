"""The `operators` request: each operation alone, forward and backward, without a BLAS.

Apart from the model because it is held to float64 and finite differences op by op, on tensors the harness
chose, strided views among them. Inputs are widened to float64 and results written as F64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import fields
from .events import Emit
from .failure import Failure, io_failure
from .op_table import OPS, Outputs
from .strict_json import Json
from .tensors import Float64, TensorFile, read_tensors, write_tensors

_VIEW_KEYS = {"strides", "offset", "view"}


def run_cases(cases: list[Json], file: Path, output: Path, emit: Emit) -> None:
    """Run all cases and write their results to `output`; a case that cannot run says why."""
    kinds: dict[str, fields.Kind] = {
        "case": fields.string,
        "op": fields.string,
        "attributes": fields.an_object,
        "inputs": fields.strings,
        "gradients": fields.strings,
    }
    checked = [fields.check(case, kinds, "request", f"cases[{index}]") for index, case in enumerate(cases)]
    names = [str(case["case"]) for case in checked]
    for name in names:
        if names.count(name) > 1:
            raise Failure("request", f"the case {name} is named twice", name)
    stored = read_tensors(file)
    results: dict[str, Float64] = {}
    for name, case in zip(names, checked, strict=True):
        message = ""
        try:
            results.update(_run_case(name, case, stored))
        except (ValueError, IndexError, KeyError, TypeError, Failure) as error:
            message = " ".join(str(error).split()) or type(error).__name__
        emit({"event": "case", "case": name, "ok": message == "", "message": message})
    partial = output.with_name(output.name + ".partial")
    write_tensors(partial, results, {})
    try:
        partial.replace(output)
    except OSError as error:
        raise io_failure(error, output) from error


@dataclass(frozen=True)
class _Operand:
    """A tensor of the file and the view of it that the case asks for."""

    buffer: Float64
    indices: np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None

    @property
    def values(self) -> Float64:
        return self.buffer if self.indices is None else self.buffer.reshape(-1)[self.indices]

    def gradient(self, of_view: Float64) -> Float64:
        """The gradient of the buffer, in its own shape: elements seen several times add up."""
        if self.indices is None:
            return of_view
        made = np.zeros(self.buffer.size)
        np.add.at(made, self.indices, of_view)
        return made.reshape(self.buffer.shape)


def _run_case(name: str, case: dict[str, Json], stored: TensorFile) -> dict[str, Float64]:
    op_name, attributes = str(case["op"]), dict(case["attributes"])  # type: ignore[arg-type]
    inputs: list[str] = case["inputs"]  # type: ignore[assignment]
    wanted: list[str] = case["gradients"]  # type: ignore[assignment]
    if op_name not in OPS:
        raise ValueError(f"the op {op_name} is unknown")
    op, kinds = OPS[op_name]
    views = {key: attributes.pop(key) for key in _VIEW_KEYS & set(attributes)}
    fields.check(attributes, kinds, "request", op_name)
    operands = {key: _operand(stored, name, key, views) for key in inputs}
    outputs, pull = op(*(operands[key].values for key in inputs), **attributes)
    results = {
        f"{name}.output{part and '.' + part}": values for part, values in _named(outputs, inputs).items()
    }
    unknown = [key for key in wanted if key not in inputs]
    if unknown or (wanted and pull is None):
        raise ValueError(f"{op_name} has no gradient for {', '.join(unknown or wanted)}")
    if wanted and pull is not None:
        incoming = _operand(stored, name, "incoming", views).values
        if incoming.shape != outputs[""].shape:
            raise ValueError(f"incoming is {incoming.shape}, the output {outputs[''].shape}")
        for key, gradient in zip(inputs, pull(incoming), strict=True):
            if key in wanted:
                results[f"{name}.gradient.{key}"] = operands[key].gradient(gradient)
    return results


def _named(outputs: Outputs, inputs: Sequence[str]) -> Outputs:
    """Outputs numbered like their inputs (`#0`, …) get the inputs' names."""
    return {
        inputs[int(part[1:])] if part.startswith("#") else part: values for part, values in outputs.items()
    }


def _operand(stored: TensorFile, case: str, key: str, views: Mapping[str, Json]) -> _Operand:
    full = f"{case}.{key}"
    if full not in stored.tensors:
        raise ValueError(f"{stored.path} lacks {full}")
    buffer = stored.tensors[full].float64()
    chosen: dict[str, Json] = {}
    for attribute, of_inputs in views.items():
        if not isinstance(of_inputs, dict):
            raise ValueError(f"{attribute} must be an object")
        if key in of_inputs:
            chosen[attribute] = of_inputs[key]
    if not chosen:
        return _Operand(buffer, None)
    strides, offset, view = (
        chosen.get("strides"),
        chosen.get("offset", 0),
        chosen.get("view", list(buffer.shape)),
    )
    if fields.integers(strides) or fields.integers(view) or not fields.is_integer(offset):
        raise ValueError(f"{key}: strides, view and offset must be integers")
    return _Operand(buffer, _indices(key, buffer.size, strides, offset, view))  # type: ignore[arg-type]


def _indices(
    key: str, size: int, strides: list[int], offset: int, view: list[int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Where each element of the view lies in the flat buffer."""
    if len(strides) != len(view) or any(count < 1 for count in view):
        raise ValueError(f"{key}: strides {strides} do not fit the view {view}")
    reach = [stride * (count - 1) for stride, count in zip(strides, view, strict=True)]
    low, high = offset + sum(min(r, 0) for r in reach), offset + sum(max(r, 0) for r in reach)
    if low < 0 or high >= size:
        raise ValueError(f"{key}: the view reaches from {low} to {high} of {size} elements")
    positions = np.arange(size, dtype=np.int64)
    return as_strided(positions[offset:], view, [8 * stride for stride in strides]).copy()
