"""The operations in NumPy float64, forward and backward written out from docs/spec.md: what the core's
results are measured against.

Each operation is a class with `forward(inputs, **attributes)` and `backward(inputs, incoming, **attributes)`,
the latter giving one gradient per input. test_ops.py holds the backward functions to finite differences of
the forward ones. Nothing here may use the core.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


class Embedding:
    @staticmethod
    def forward(inputs: Sequence[Array], ids: Any) -> Array:
        return inputs[0][ids]

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, ids: Any) -> list[Array]:
        gradient = np.zeros_like(inputs[0])
        np.add.at(gradient, ids, incoming)
        return [gradient]


class RmsNorm:
    @staticmethod
    def forward(inputs: Sequence[Array], epsilon: float) -> Array:
        x, gain = inputs
        return gain * x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, epsilon: float) -> list[Array]:
        x, gain = inputs
        root = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
        direct = gain * incoming
        dx = root * (direct - x * root**2 * (direct * x).mean(-1, keepdims=True))
        return [dx, (incoming * x * root).reshape(-1, x.shape[-1]).sum(0)]


class Linear:
    @staticmethod
    def forward(inputs: Sequence[Array]) -> Array:
        return inputs[0] @ inputs[1].T

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array) -> list[Array]:
        return [incoming @ inputs[1], incoming.T @ inputs[0]]


class LoraLinear:
    @staticmethod
    def forward(inputs: Sequence[Array], scale: float) -> Array:
        x, w, a, b = inputs
        return x @ w.T + scale * (x @ a.T) @ b.T

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, scale: float) -> list[Array]:
        x, w, a, b = inputs
        low = scale * incoming @ b
        return [incoming @ w + low @ a, incoming.T @ x, low.T @ x, scale * incoming.T @ (x @ a.T)]


class Rope:
    @staticmethod
    def turn(x: Array, positions: Any, theta: float, sign: float) -> Array:
        half = x.shape[-1] // 2
        angle = np.outer(positions, theta ** (-np.arange(half) / half))[:, None, :]
        left, right = x[..., :half], x[..., half:]
        cosine, sine = np.cos(angle), sign * np.sin(angle)
        return np.concatenate([left * cosine - right * sine, right * cosine + left * sine], -1)

    @staticmethod
    def forward(inputs: Sequence[Array], positions: Any, theta: float) -> Array:
        return Rope.turn(inputs[0], positions, theta, 1)

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, positions: Any, theta: float) -> list[Array]:
        return [Rope.turn(incoming, positions, theta, -1)]


class Attention:
    @staticmethod
    def weights(q: Array, k: Array, causal: bool) -> Array:
        """(heads, rows, rows) of one record; k already repeated to q's heads."""
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[-1])
        if causal:
            scores = np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    @staticmethod
    def forward(inputs: Sequence[Array], starts: Any, causal: bool) -> Array:
        q, k, v = inputs
        group = q.shape[1] // k.shape[1]
        out = np.zeros_like(q)
        for first, last in itertools.pairwise(starts):
            if first < last:
                part = slice(first, last)
                weights = Attention.weights(q[part], np.repeat(k[part], group, 1), causal)
                out[part] = np.einsum("hij,jhd->ihd", weights, np.repeat(v[part], group, 1))
        return out

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, starts: Any, causal: bool) -> list[Array]:
        q, k, v = inputs
        group = q.shape[1] // k.shape[1]
        dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        for first, last in itertools.pairwise(starts):
            if first == last:
                continue
            part = slice(first, last)
            keys, values = np.repeat(k[part], group, 1), np.repeat(v[part], group, 1)
            weights = Attention.weights(q[part], keys, causal)
            slopes = np.einsum("ihd,jhd->hij", incoming[part], values)
            slopes = weights * (slopes - (slopes * weights).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
            dq[part] = np.einsum("hij,jhd->ihd", slopes, keys)
            shape = (last - first, k.shape[1], group, q.shape[2])
            dk[part] = np.einsum("hij,ihd->jhd", slopes, q[part]).reshape(shape).sum(2)
            dv[part] = np.einsum("hij,ihd->jhd", weights, incoming[part]).reshape(shape).sum(2)
        return [dq, dk, dv]


class Swiglu:
    @staticmethod
    def forward(inputs: Sequence[Array]) -> Array:
        gate, up = inputs
        return gate / (1 + np.exp(-gate)) * up

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array) -> list[Array]:
        gate, up = inputs
        s = 1 / (1 + np.exp(-gate))
        return [incoming * up * (s + gate * s * (1 - s)), incoming * gate * s]


class Add:
    @staticmethod
    def forward(inputs: Sequence[Array]) -> Array:
        return inputs[0] + inputs[1]

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array) -> list[Array]:
        return [incoming, incoming]


class Scale:
    @staticmethod
    def forward(inputs: Sequence[Array], factor: float) -> Array:
        return inputs[0] * factor

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, factor: float) -> list[Array]:
        return [incoming * factor]


class LinearCrossEntropy:
    @staticmethod
    def forward(inputs: Sequence[Array], rows: Any, targets: Any) -> Array:
        h, w = inputs
        logits = h[rows] @ w.T
        top = logits.max(-1)
        total = np.log(np.exp(logits - top[:, None]).sum(-1)) + top
        return total - logits[np.arange(len(rows)), targets]

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, rows: Any, targets: Any) -> list[Array]:
        h, w = inputs
        logits = h[rows] @ w.T
        slopes = np.exp(logits - logits.max(-1, keepdims=True))
        slopes /= slopes.sum(-1, keepdims=True)
        slopes[np.arange(len(rows)), targets] -= 1
        slopes *= incoming[:, None]
        dh = np.zeros_like(h)
        np.add.at(dh, rows, slopes @ w)
        return [dh, slopes.T @ h[rows]]


class Matmul:
    @staticmethod
    def forward(inputs: Sequence[Array]) -> Array:
        return inputs[0] @ inputs[1]

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array) -> list[Array]:
        return [incoming @ inputs[1].T, inputs[0].T @ incoming]


class Softmax:
    @staticmethod
    def forward(inputs: Sequence[Array]) -> Array:
        (x,) = inputs
        weights = np.exp(x - x.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array) -> list[Array]:
        y = Softmax.forward(inputs)
        return [y * (incoming - (incoming * y).sum(-1, keepdims=True))]


class ReduceSum:
    @staticmethod
    def forward(inputs: Sequence[Array], axis: int) -> Array:
        out = inputs[0].sum(axis)
        return out if out.ndim else out.reshape(1)

    @staticmethod
    def backward(inputs: Sequence[Array], incoming: Array, axis: int) -> list[Array]:
        (x,) = inputs
        incoming = incoming if x.ndim > 1 else incoming.reshape(())
        return [np.broadcast_to(np.expand_dims(incoming, axis), x.shape).copy()]


OPERATIONS: dict[str, Any] = {
    "embedding": Embedding,
    "rms_norm": RmsNorm,
    "linear": Linear,
    "lora_linear": LoraLinear,
    "rope": Rope,
    "attention": Attention,
    "swiglu": Swiglu,
    "add": Add,
    "scale": Scale,
    "linear_cross_entropy": LinearCrossEntropy,
    "matmul": Matmul,
    "softmax": Softmax,
    "reduce_sum": ReduceSum,
}


def differences(
    operation: Any, inputs: Sequence[Array], incoming: Array, attributes: dict[str, Any], wanted: int
) -> Array:
    """The gradient at input number `wanted` by central differences of the forward function."""
    x = inputs[wanted]
    gradient = np.zeros_like(x)
    step = 1e-6
    for at in np.ndindex(*x.shape):
        kept = x[at]
        sides = []
        for sign in (1, -1):
            x[at] = kept + sign * step
            sides.append((operation.forward(inputs, **attributes) * incoming).sum())
        x[at] = kept
        gradient[at] = (sides[0] - sides[1]) / (2 * step)
    return gradient
