"""Cases for the `operators` request: one op on tensors that the harness chose.

Separate from the level because making inputs and judging outputs share nothing but the Case. Here are
the seeded cases, 5 inputs of 4 shapes an op: odd sizes, several records, rows behind the last one, and in
every fourth shape operands that are strided views. Those with exact values are in exact.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]
SHAPES = 4
SEEDS = 5
_STRIDED_SHAPE = 3
# Behind and before a strided operand's elements; a read outside the view shows.
_GUARD = 7.0
_PADDING = 2


@dataclass(frozen=True, slots=True)
class Case:
    """One op: `tensors` are inputs in the op's order, then perhaps `incoming`, as they lie in the file."""

    name: str
    op: str
    attributes: Mapping[str, Any]
    inputs: list[str]
    tensors: Mapping[str, Float32]
    gradients: list[str]
    outputs: list[str] = field(default_factory=lambda: ["output"])

    @property
    def message(self) -> dict[str, Any]:
        """The case as the request holds it."""
        return {
            "case": self.name,
            "op": self.op,
            "attributes": dict(self.attributes),
            "inputs": self.inputs,
            "gradients": self.gradients,
        }

    @property
    def results(self) -> list[str]:
        """Names, behind `<case>.`, of all tensors that must come back."""
        return [*self.outputs, *(f"gradient.{name}" for name in self.gradients)]

    def expected_shape(self, result: str) -> tuple[int, ...] | None:
        """The shape that a gradient must have: its buffer's. Of an output only the judge knows."""
        if result.startswith("gradient."):
            return self.tensors[result.removeprefix("gradient.")].shape
        return None


@dataclass(frozen=True, slots=True)
class _Draft:
    """Inputs and attributes of a seeded case; `out`: the output's shape, None for what has no gradient."""

    tensors: dict[str, Float32]
    attributes: dict[str, Any]
    out: tuple[int, ...] | None
    outputs: list[str] = field(default_factory=lambda: ["output"])
    fixed: tuple[str, ...] = ()


Rng = np.random.Generator


def _normal(rng: Rng, *shape: int, scale: float = 1.0) -> Float32:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def seeded_cases() -> Iterator[Case]:
    """All of them, the same on every machine (PCG64 by op, shape and seed)."""
    for op_index, (op, make) in enumerate(_OPS.items()):
        for shape in range(SHAPES):
            for seed in range(SEEDS):
                rng = np.random.Generator(np.random.PCG64([op_index, shape, seed]))
                yield _finish(f"{op}.{shape}.{seed}", op, make(rng, shape), shape == _STRIDED_SHAPE, rng)


def _finish(name: str, op: str, draft: _Draft, strided: bool, rng: Rng) -> Case:
    tensors = dict(draft.tensors)
    attributes = dict(draft.attributes)
    inputs = list(tensors)
    if draft.out is not None:
        tensors["incoming"] = _normal(rng, *draft.out)
    if strided and draft.out is not None:
        for key in inputs:
            if key not in draft.fixed:
                tensors[key] = _as_view(key, tensors[key], attributes)
    gradients = inputs if draft.out is not None else []
    return Case(name, op, attributes, inputs, tensors, list(gradients), draft.outputs)


def _as_view(key: str, values: Float32, attributes: dict[str, Any]) -> Float32:
    """The same values, last two axes swapped in memory (or every second element), inside guards."""
    if values.ndim == 1:
        inner = np.full(2 * values.size, _GUARD, np.float32)
        inner[::2] = values
        strides = [2]
    else:
        swapped = np.ascontiguousarray(values.swapaxes(-1, -2))
        inner = swapped.reshape(-1)
        strides = [stride // 4 for stride in swapped.swapaxes(-1, -2).strides]
    guard = np.full(_PADDING, _GUARD, np.float32)
    attributes.setdefault("strides", {})[key] = strides
    attributes.setdefault("offset", {})[key] = _PADDING
    attributes.setdefault("view", {})[key] = list(values.shape)
    return np.concatenate([guard, inner, guard])


def _embedding(rng: Rng, shape: int) -> _Draft:
    vocab, dim, count = [(7, 4, 5), (31, 16, 12), (13, 33, 40), (11, 6, 9)][shape]
    ids = [int(value) for value in rng.integers(0, vocab, count)]
    return _Draft({"table": _normal(rng, vocab, dim)}, {"ids": ids}, (count, dim))


def _rms_norm(rng: Rng, shape: int) -> _Draft:
    size = [(1, 4), (7, 33), (3, 2, 16), (9, 24)][shape]
    scale = float(rng.choice([1e-3, 1.0, 30.0]))
    x = _normal(rng, *size, scale=scale)
    gain = (1 + _normal(rng, size[-1], scale=0.2)).astype(np.float32)
    return _Draft({"x": x, "gain": gain}, {"epsilon": 1e-6}, size)


_LINEAR = [(1, 3, 5), (17, 32, 48), (33, 65, 31), (9, 14, 22)]


def _linear(rng: Rng, shape: int) -> _Draft:
    rows, width, out = _LINEAR[shape]
    w = _normal(rng, out, width, scale=width**-0.5)
    return _Draft({"x": _normal(rng, rows, width), "w": w}, {}, (rows, out))


def _lora_linear(rng: Rng, shape: int) -> _Draft:
    rows, width, out = _LINEAR[shape]
    rank = [1, 8, 5, 3][shape]
    tensors = {
        "x": _normal(rng, rows, width),
        "w": _normal(rng, out, width, scale=width**-0.5),
        "a": _normal(rng, rank, width, scale=width**-0.5),
        "b": _normal(rng, out, rank, scale=0.1),
    }
    return _Draft(tensors, {"scale": [2.0, 2.0, 0.5, 1.25][shape]}, (rows, out))


def _rope(rng: Rng, shape: int) -> _Draft:
    rows, heads, head_dim = [(1, 1, 4), (12, 4, 32), (9, 3, 10), (7, 2, 8)][shape]
    start = int(rng.integers(0, 900))
    positions = [start + row for row in range(rows)] if shape else [int(rng.integers(0, 1024))]
    theta = [1e6, 1e6, 1e4, 5e5][shape]
    return _Draft(
        {"x": _normal(rng, rows, heads, head_dim)},
        {"positions": positions, "theta": theta},
        (rows, heads, head_dim),
    )


def _attention(rng: Rng, shape: int) -> _Draft:
    rows, heads, kv_heads, head_dim, starts, causal = [
        (5, 2, 2, 4, [0, 5], True),
        (40, 4, 2, 32, [0, 17, 18, 37], True),  # a record of one row, and rows behind the last record
        (13, 3, 1, 10, [0, 6, 13], False),
        (21, 6, 2, 8, [0, 9, 21], True),
    ][shape]
    tensors = {
        "q": _normal(rng, rows, heads, head_dim),
        "k": _normal(rng, rows, kv_heads, head_dim),
        "v": _normal(rng, rows, kv_heads, head_dim),
    }
    attributes = {"starts": starts, "heads": heads, "kv_heads": kv_heads, "causal": causal}
    return _Draft(tensors, attributes, (rows, heads, head_dim))


_FLAT = [(1, 1), (5, 7), (3, 4, 9), (11, 6)]


def _swiglu(rng: Rng, shape: int) -> _Draft:
    size = _FLAT[shape]
    return _Draft({"g": _normal(rng, *size, scale=3.0), "u": _normal(rng, *size)}, {}, size)


def _add(rng: Rng, shape: int) -> _Draft:
    size = _FLAT[shape]
    return _Draft({"a": _normal(rng, *size), "b": _normal(rng, *size)}, {}, size)


def _scale(rng: Rng, shape: int) -> _Draft:
    size = _FLAT[shape]
    return _Draft({"x": _normal(rng, *size)}, {"scale": [2.0, -0.3, 1e-3, 7.5][shape]}, size)


def _linear_cross_entropy(rng: Rng, shape: int) -> _Draft:
    rows, hidden, vocab, count = [(2, 3, 5, 1), (33, 32, 257, 20), (17, 9, 1031, 17), (12, 10, 30, 7)][shape]
    chosen = sorted(int(value) for value in rng.choice(rows, count, replace=False))
    targets = [int(value) for value in rng.integers(0, vocab, count)]
    tensors = {"h": _normal(rng, rows, hidden), "w": _normal(rng, vocab, hidden, scale=0.5)}
    return _Draft(tensors, {"rows": chosen, "targets": targets}, (count,))


def _matmul(rng: Rng, shape: int) -> _Draft:
    m, k, n = [(1, 1, 1), (17, 40, 23), (65, 33, 9), (12, 18, 7)][shape]
    return _Draft({"a": _normal(rng, m, k), "b": _normal(rng, k, n)}, {}, (m, n))


def _softmax(rng: Rng, shape: int) -> _Draft:
    size = [(1, 3), (7, 50), (2, 3, 17), (6, 11)][shape]
    return _Draft({"x": _normal(rng, *size, scale=1.5)}, {}, size)


def _transpose(rng: Rng, shape: int) -> _Draft:
    rows, columns = [(1, 5), (7, 7), (13, 4), (6, 9)][shape]
    return _Draft({"x": _normal(rng, rows, columns)}, {}, (columns, rows))


def _reshape(rng: Rng, shape: int) -> _Draft:
    size, other = [((4,), (2, 2)), ((6, 5), (3, 10)), ((2, 3, 8), (6, 8)), ((12, 2), (24,))][shape]
    # A reshape is a view, and a strided operand has none.
    return _Draft({"x": _normal(rng, *size)}, {"shape": list(other)}, other, fixed=("x",))


def _reduce_sum(rng: Rng, shape: int) -> _Draft:
    sizes: list[tuple[tuple[int, ...], int]] = [((5,), 0), ((7, 33), 1), ((3, 4, 9), 1), ((11, 6), 0)]
    size, axis = sizes[shape]
    out = tuple(count for index, count in enumerate(size) if index != axis) or (1,)
    return _Draft({"x": _normal(rng, *size)}, {"axis": axis}, out)


def _gradient_tensors(rng: Rng, shape: int) -> dict[str, Float32]:
    groups: list[list[tuple[int, ...]]] = [
        [(3,)],
        [(8, 32), (48, 8)],
        [(5, 7), (1, 1), (9,)],
        [(130, 11), (4, 3)],
    ]
    return {f"g{index}": _normal(rng, *size) for index, size in enumerate(groups[shape])}


def _gradient_norm(rng: Rng, shape: int) -> _Draft:
    return _Draft(_gradient_tensors(rng, shape), {}, None)


def _clip(rng: Rng, shape: int) -> _Draft:
    tensors = _gradient_tensors(rng, shape)
    outputs = ["output.norm", *(f"output.{name}" for name in tensors)]
    # The last shape's limit is out of reach: there a gradient must come back as it was.
    return _Draft(tensors, {"clip_norm": [0.5, 1.0, 2.0, 1e6][shape]}, None, outputs)


def _adamw(rng: Rng, shape: int) -> _Draft:
    size = [(1,), (8, 32), (5, 7), (48, 8)][shape]
    step = [1, 2, 31, 1000][shape]
    first = step == 1
    tensors = {
        "p": _normal(rng, *size, scale=0.1),
        "g": _normal(rng, *size, scale=1e-2),
        "m": _normal(rng, *size, scale=0.0 if first else 1e-2),
        "v": np.square(_normal(rng, *size, scale=0.0 if first else 1e-2)),
    }
    attributes = {
        "learning_rate": 2e-3,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "weight_decay": 0.01,
        "step": step,
    }
    return _Draft(tensors, attributes, None, ["output.p", "output.m", "output.v"])


_OPS: dict[str, Callable[[Rng, int], _Draft]] = {
    "embedding": _embedding,
    "rms_norm": _rms_norm,
    "linear": _linear,
    "lora_linear": _lora_linear,
    "rope": _rope,
    "attention": _attention,
    "swiglu": _swiglu,
    "add": _add,
    "scale": _scale,
    "linear_cross_entropy": _linear_cross_entropy,
    "matmul": _matmul,
    "softmax": _softmax,
    "transpose": _transpose,
    "reshape": _reshape,
    "reduce_sum": _reduce_sum,
    "gradient_norm": _gradient_norm,
    "clip": _clip,
    "adamw": _adamw,
}
