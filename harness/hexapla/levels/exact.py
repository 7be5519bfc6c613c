"""Cases of the `operators` request whose right answers are known without an oracle.

Separate from the seeded ones because these protect against a wrong oracle too. The names and values are
those of the project's list of cases (E4, E5, F1 to F4, G1 to G5, J5), where each says what a faulty
implementation gives; tolerances are relative to each value, and tight enough to tell the faults apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapla.levels.cases import Case, Float32

Values = Mapping[str, npt.NDArray[Any]]
_TOLERANCE = 1e-6
_REPEATS = 20


@dataclass(frozen=True, slots=True)
class ExactCase:
    """A case with its answers by result name. `check` says what is wrong beyond them, or ""."""

    case: Case
    expected: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = _TOLERANCE
    check: Callable[[Values], str] | None = None

    def problem(self, results: Values) -> str:
        """What the results of this case get wrong, "" for nothing."""
        for name, values in self.expected.items():
            right = np.asarray(values, np.float64)
            got = results[name].astype(np.float64)
            if got.shape != right.shape:
                return f"{name} has shape {list(got.shape)}, not {list(right.shape)}"
            # An exact 0 may come out as a subnormal at most.
            wrong = ~(np.abs(got - right) <= self.tolerance * np.abs(right) + 1e-37)
            if wrong.any():
                at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
                return f"{name}{[int(index) for index in at]} is {got[at]:.9g}, not {right[at]:.9g}"
        return self.check(results) if self.check else ""


def exact_cases() -> Iterator[ExactCase]:
    """All of them."""
    yield from _optimizer()
    yield from _adapters()
    yield from _strides()
    yield from _softmax_and_loss()
    yield from _rope_and_norm()
    yield from _repeatability()


def _make(  # noqa: PLR0913 (a case has that many parts)
    name: str,
    op: str,
    tensors: Mapping[str, Any],
    attributes: Mapping[str, Any] | None = None,
    *,
    incoming: Any = None,
    gradients: list[str] | None = None,
    outputs: list[str] | None = None,
) -> Case:
    arrays: dict[str, Float32] = {key: np.asarray(value, np.float32) for key, value in tensors.items()}
    inputs = list(arrays)
    if incoming is not None:
        arrays["incoming"] = np.asarray(incoming, np.float32)
    return Case(name, op, attributes or {}, inputs, arrays, gradients or [], outputs or ["output"])


def _optimizer() -> Iterator[ExactCase]:
    # With the divisor norm + 1e-6 the second value is 0.79999984: 2e-7 away.
    yield ExactCase(
        _make(
            "E4.clip",
            "clip",
            {"g0": [3, 0], "g1": [0, 4]},
            {"clip_norm": 1.0},
            outputs=["output.norm", "output.g0", "output.g1"],
        ),
        {"output.norm": [5.0], "output.g0": [0.6, 0.0], "output.g1": [0.0, 0.8]},
        tolerance=1e-7,
    )
    yield ExactCase(_make("E4.norm", "gradient_norm", {"g0": [3, 0], "g1": [0, 4]}), {"output": [5.0]})
    attributes = {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.0}
    yield ExactCase(
        _make(
            "E5.resumed",
            "adamw",
            {"p": [-0.0399999996], "g": [0.1], "m": [0.3439], "v": [0.003994003999]},
            {**attributes, "step": 5},
            outputs=["output.p", "output.m", "output.v"],
        ),
        {"output.p": [-0.048714452128], "output.m": [0.31951], "output.v": [0.004000009995]},
    )
    # E6's policy for A and B: decayed, and so a parameter without gradient shrinks by 1 − rate · decay.
    yield ExactCase(
        _make(
            "E6.decay",
            "adamw",
            {"p": [1.0], "g": [0.0], "m": [0.0], "v": [0.0]},
            {**attributes, "weight_decay": 0.1, "step": 1},
            outputs=["output.p", "output.m", "output.v"],
        ),
        {"output.p": [0.999], "output.m": [0.0], "output.v": [0.0]},
        tolerance=1e-7,
    )


def _adapters() -> Iterator[ExactCase]:
    shared = [[1, 0], [0, 1], [1, 1]]
    yield ExactCase(
        _make(
            "F1.head",
            "lora_linear",
            {"x": [[1, 1]], "w": shared, "a": [[1, 0]], "b": [[0], [0], [1]]},
            {"scale": 1.0},
        ),
        {"output": [[1, 1, 3]]},
    )
    yield ExactCase(_make("F1.embedding", "embedding", {"table": shared}, {"ids": [2]}), {"output": [[1, 1]]})
    factors = {"x": [[1, 2]], "w": [[1, 0], [0, 1]], "a": [[1, 1], [0, 1]], "b": [[1, 0], [2, 1]]}
    yield ExactCase(_make("F2.scale", "lora_linear", factors, {"scale": 3.0}), {"output": [[10, 26]]})
    for name, logits, loss in (("F3.adapted", [1.3, 2.8], 1.7014133), ("F3.base", [1, 2], 1.3132617)):
        yield _loss(name, logits, 0, loss)
    yield ExactCase(
        _make(
            "F4.initial",
            "lora_linear",
            {**factors, "b": [[0, 0], [0, 0]]},
            {"scale": 2.0},
            incoming=[[1, 2]],
            gradients=["a", "b"],
        ),
        # xWᵀ alone; dA = scale · (gB)ᵀx = 0; dB = scale · gᵀ(xAᵀ), with xAᵀ = [3, 2].
        {"output": [[1, 2]], "gradient.a": [[0, 0], [0, 0]], "gradient.b": [[6, 4], [12, 8]]},
    )


def _strides() -> Iterator[ExactCase]:
    buffer = [[1, 2], [3, 4], [5, 6]]
    b = [[1, 0], [0, 1], [1, 1]]
    view = {"strides": {"a": [1, 2]}, "offset": {"a": 0}, "view": {"a": [2, 3]}}
    yield ExactCase(
        _make(
            "G1.strided",
            "matmul",
            {"a": buffer, "b": b},
            view,
            incoming=[[1, 2], [3, 4]],
            gradients=["a", "b"],
        ),
        {
            "output": [[6, 8], [8, 10]],
            "gradient.b": [[7, 10], [15, 22], [23, 34]],
            "gradient.a": [[1, 3], [2, 4], [3, 7]],
        },
    )
    broadcast = {
        "strides": {"a": [1, 2], "incoming": [0, 0]},
        "offset": {"a": 0, "incoming": 0},
        "view": {"a": [2, 3], "incoming": [2, 2]},
    }
    yield ExactCase(
        _make("G1.broadcast", "matmul", {"a": buffer, "b": b}, broadcast, incoming=[1], gradients=["b"]),
        {"output": [[6, 8], [8, 10]], "gradient.b": [[3, 3], [7, 7], [11, 11]]},
    )


def _softmax_and_loss() -> Iterator[ExactCase]:
    scores = [[0, math.log(3)], [-math.inf, -math.inf]]
    yield ExactCase(
        # Incoming 1 at the output of softmax · values, with values [1, 5].
        _make("G2.softmax", "softmax", {"x": scores}, incoming=[[1, 5], [1, 5]], gradients=["x"]),
        {"output": [[0.25, 0.75], [0, 0]], "gradient.x": [[-0.75, 0.75], [0, 0]]},
    )
    yield ExactCase(
        _make(
            "G2.values",
            "matmul",
            {"a": [[0.25, 0.75], [0, 0]], "b": [[1], [5]]},
            incoming=[[1], [1]],
            gradients=["b"],
        ),
        {"output": [[4], [0]], "gradient.b": [[0.25], [0.75]]},
    )
    for name, logits, target, loss in (
        ("G3.sure", [88.8, 0], 0, 0.0),
        ("G3.wrong", [88.8, 0], 1, 88.8),
        ("G3.large", [1000, 1000], 0, 0.6931472),
        ("G3.small", [-1000, -1000], 1, 0.6931472),
        ("G3.huge", [1e8, 1e8], 0, 0.6931472),
        ("G3.three", [-200, -200, -200], 2, 1.0986123),
    ):
        yield _loss(name, logits, target, loss)


def _loss(name: str, logits: Sequence[float], target: int, loss: float) -> ExactCase:
    """Cross-entropy of given logits: a hidden size of 1 makes the head's rows the logits."""
    return ExactCase(
        _make(
            name,
            "linear_cross_entropy",
            {"h": [[1]], "w": [[logit] for logit in logits]},
            {"rows": [0], "targets": [target]},
            incoming=[1],
            gradients=["h", "w"],
        ),
        {"output": [loss]},
    )


def _rope_and_norm() -> Iterator[ExactCase]:
    theta = 1e6
    x = [[[1, 2, 3, 4]], [[4, 3, 2, 1]]]
    yield ExactCase(
        _make("G4.rotated", "rope", {"x": x[:1]}, {"positions": [1], "theta": theta}),
        {"output": [[[-1.9841106, 1.9959990, 2.4623779, 4.0019980]]]},
    )
    yield ExactCase(
        _make("G4.identity", "rope", {"x": x}, {"positions": [0, 0], "theta": theta}), {"output": x}
    )
    for name, positions in (("G4.from_3_to_1", [3, 1]), ("G4.from_2_to_0", [2, 0])):
        yield ExactCase(
            _make(name, "rope", {"x": x}, {"positions": positions, "theta": theta}), check=_relative_angle
        )
    attributes = {"epsilon": 1e-6}
    yield ExactCase(
        _make(
            "G5.norm",
            "rms_norm",
            {"x": [[1e-3, 2e-3, 3e-3, 4e-3]], "gain": [1, 1, 1, 1]},
            attributes,
            incoming=[[1, 0, 0, 0]],
            gradients=["x"],
        ),
        {
            "output": [[0.3429972, 0.6859943, 1.0289915, 1.3719887]],
            "gradient.x": [[332.909018, -20.176304, -30.264456, -40.352608]],
        },
    )


def _relative_angle(results: Values) -> str:
    one, other = results["output"].astype(np.float64)
    dot = float(np.sum(one * other))
    return "" if abs(dot + 3.2744626) <= 3e-6 else f"the product of both rows is {dot:.7g}, not -3.274463"


def _repeatability() -> Iterator[ExactCase]:
    yield ExactCase(
        _make("J5.product", "matmul", {"a": [[1024.5]], "b": [[1.0]]}), {"output": [[1024.5]]}, tolerance=0.0
    )
    for number in range(_REPEATS):
        yield ExactCase(
            _make(
                f"J5.order.{number}",
                "embedding",
                {"table": [[0.5], [0.25]]},
                {"ids": [0, 0, 0, 0]},
                incoming=[[1e8], [1], [-1e8], [1]],
                gradients=["table"],
            ),
            {"output": [[0.5], [0.5], [0.5], [0.5]]},
        )


def repeatability_problem(results: Mapping[str, npt.NDArray[Any]]) -> str:
    """J5: the same sum in the same order, 20 times. `results` by full name; "" when all are equal."""
    seen = {
        results[f"J5.order.{number}.gradient.table"].tobytes()
        for number in range(_REPEATS)
        if f"J5.order.{number}.gradient.table" in results
    }
    return f"{len(seen)} different values of one sum in {_REPEATS} repeats" if len(seen) > 1 else ""
