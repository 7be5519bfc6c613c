"""The operations of the forward pass and their derivatives, written out by hand in float64.

Apart from the model because the `operators` request holds each of them alone to float64 and finite
differences. Every function is pure. Those that multiply matrices take `multiply` first: `blas` in training,
`plain` in `operators`.

Shapes: x [rows, …]; weights [out, in]; q [rows, heads, head_dim]; k, v [rows, kv_heads, head_dim].
"""

# ruff: noqa: PLR0913, PLR0917 -- the arguments are the formula's own.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .tensors import Float64

Multiply = Callable[[Float64, Float64], Float64]
Indices = NDArray[np.int64]


def blas(a: Float64, b: Float64) -> Float64:
    """[…, m, k] × […, k, n] through NumPy's BLAS."""
    return np.matmul(a, b)  # type: ignore[no-any-return]


def plain(a: Float64, b: Float64) -> Float64:
    """The same product by a loop of its own: einsum without `optimize` never calls a BLAS."""
    return np.einsum("...ik,...kj->...ij", a, b, optimize=False)  # type: ignore[no-any-return]


def embedding(table: Float64, ids: Indices) -> Float64:
    return table[ids]


def embedding_backward(table: Float64, ids: Indices, incoming: Float64) -> Float64:
    """The table's gradient: rows of equal ids add up in their order."""
    gradient = np.zeros_like(table)
    np.add.at(gradient, ids, incoming)
    return gradient


def rms_norm(x: Float64, gain: Float64, epsilon: float) -> tuple[Float64, Float64]:
    """gain·x / sqrt(mean x² + epsilon) over the last axis; also the reciprocal root, [..., 1]."""
    inverse = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon)
    return gain * (x * inverse), inverse


def rms_norm_backward(
    x: Float64, gain: Float64, inverse: Float64, incoming: Float64
) -> tuple[Float64, Float64]:
    """Gradients of x and gain."""
    normal = x * inverse
    scaled = incoming * gain
    x_gradient = inverse * (scaled - normal * np.mean(scaled * normal, axis=-1, keepdims=True))
    return x_gradient, (incoming * normal).reshape(-1, gain.size).sum(axis=0)


def linear(multiply: Multiply, x: Float64, w: Float64) -> Float64:
    return multiply(x, w.T)


def linear_backward(multiply: Multiply, x: Float64, w: Float64, incoming: Float64) -> tuple[Float64, Float64]:
    """Gradients of x and w."""
    return multiply(incoming, w), multiply(incoming.T, x)


def lora_linear(
    multiply: Multiply, x: Float64, w: Float64, a: Float64, b: Float64, scale: float
) -> tuple[Float64, Float64]:
    """xWᵀ + scale·(xAᵀ)Bᵀ; also xAᵀ, [rows, rank]."""
    low = multiply(x, a.T)
    return multiply(x, w.T) + scale * multiply(low, b.T), low


def lora_linear_backward(
    multiply: Multiply,
    x: Float64,
    w: Float64,
    a: Float64,
    b: Float64,
    scale: float,
    low: Float64,
    incoming: Float64,
) -> tuple[Float64, Float64, Float64]:
    """Gradients of x, a and b (that of w is `linear_backward`'s; training freezes it)."""
    scaled = scale * incoming
    low_gradient = multiply(scaled, b)
    x_gradient = multiply(incoming, w) + multiply(low_gradient, a)
    return x_gradient, multiply(low_gradient.T, x), multiply(scaled.T, low)


def rope_angles(positions: Indices, head_dim: int, theta: float) -> tuple[Float64, Float64]:
    """Cosine and sine of position·theta^(−2i/head_dim), [rows, 1, head_dim/2]."""
    frequencies = theta ** (-2.0 * np.arange(head_dim // 2) / head_dim)
    angles = positions.astype(np.float64)[:, None, None] * frequencies
    return np.cos(angles), np.sin(angles)


def rope(x: Float64, cosine: Float64, sine: Float64) -> Float64:
    """Rotate the pairs (i, i + d/2). Its derivative is the rotation by the opposite angle: pass −sine."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def softmax(x: Float64) -> Float64:
    """Over the last axis; a row that is −inf throughout gives zeros."""
    highest = np.max(x, axis=-1, keepdims=True)
    weights = np.exp(x - np.where(np.isneginf(highest), 0.0, highest))
    total = np.sum(weights, axis=-1, keepdims=True)
    # A total that is not finite must stay visible, so only the exact zero of a masked row is replaced.
    return weights / np.where(total == 0.0, 1.0, total)


def softmax_backward(y: Float64, incoming: Float64) -> Float64:
    return y * (incoming - np.sum(incoming * y, axis=-1, keepdims=True))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class AttentionRecord:
    """What backward needs of one record of n rows: its rows, and the weights [kv_heads, group·n, n]."""

    rows: slice
    weights: Float64


def attention(
    multiply: Multiply, q: Float64, k: Float64, v: Float64, starts: Sequence[int], causal: bool
) -> tuple[Float64, list[AttentionRecord]]:
    """softmax(qkᵀ / sqrt(head_dim))·v inside each record; rows outside all records give zeros.

    `starts`: each record's first row, then the row behind the last record. Query head i reads key head
    floor(i·kv_heads/heads), so the heads of one group lie side by side.
    """
    output = np.zeros_like(q)
    records: list[AttentionRecord] = []
    kv_heads = k.shape[1]
    for begin, end in pairwise(starts):
        rows, count = slice(begin, end), end - begin
        if count == 0:
            continue
        queries, keys, values = (
            _groups(q[rows], kv_heads),
            _groups(k[rows], kv_heads),
            _groups(v[rows], kv_heads),
        )
        scores = multiply(queries, keys.swapaxes(1, 2)) / np.sqrt(q.shape[2])
        if causal:
            future = np.triu(np.ones((count, count), dtype=bool), 1)
            scores.reshape(kv_heads, -1, count, count)[..., future] = -np.inf
        weights = softmax(scores)
        output[rows] = _rows(multiply(weights, values), q.shape[1])
        records.append(AttentionRecord(rows, weights))
    return output, records


def attention_backward(
    multiply: Multiply,
    q: Float64,
    k: Float64,
    v: Float64,
    records: Sequence[AttentionRecord],
    incoming: Float64,
) -> tuple[Float64, Float64, Float64]:
    """Gradients of q, k and v."""
    q_gradient, k_gradient, v_gradient = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    heads, kv_heads = q.shape[1], k.shape[1]
    for record in records:
        rows, weights = record.rows, record.weights
        queries, keys, values = (
            _groups(q[rows], kv_heads),
            _groups(k[rows], kv_heads),
            _groups(v[rows], kv_heads),
        )
        upstream = _groups(incoming[rows], kv_heads)
        scores = softmax_backward(weights, multiply(upstream, values.swapaxes(1, 2))) / np.sqrt(q.shape[2])
        q_gradient[rows] = _rows(multiply(scores, keys), heads)
        k_gradient[rows] = _rows(multiply(scores.swapaxes(1, 2), queries), kv_heads)
        v_gradient[rows] = _rows(multiply(weights.swapaxes(1, 2), upstream), kv_heads)
    return q_gradient, k_gradient, v_gradient


def _groups(x: Float64, kv_heads: int) -> Float64:
    """[rows, heads, d] to [kv_heads, group·rows, d]: all queries that read one key head, head by head."""
    return np.ascontiguousarray(x.swapaxes(0, 1)).reshape(kv_heads, -1, x.shape[2])


def _rows(x: Float64, heads: int) -> Float64:
    """The way back from `_groups`."""
    return x.reshape(heads, -1, x.shape[-1]).swapaxes(0, 1)


def swiglu(g: Float64, u: Float64) -> Float64:
    """silu(g)·u."""
    return g * _sigmoid(g) * u


def swiglu_backward(g: Float64, u: Float64, incoming: Float64) -> tuple[Float64, Float64]:
    """Gradients of g and u."""
    gate = _sigmoid(g)
    silu = g * gate
    return incoming * u * (gate + silu * (1.0 - gate)), incoming * silu


def _sigmoid(x: Float64) -> Float64:
    return 1.0 / (1.0 + np.exp(-x))


@dataclass(frozen=True)
class CrossEntropy:
    """What backward needs: the selected rows of h, and the probabilities [targets, vocab]."""

    selected: Float64
    probabilities: Float64


def linear_cross_entropy(
    multiply: Multiply, h: Float64, w: Float64, rows: Indices, targets: Indices
) -> tuple[Float64, CrossEntropy]:
    """−log softmax(h[rows]·wᵀ)[target] for each target; logits exist at these rows only."""
    selected = h[rows]
    logits = multiply(selected, w.T)
    highest = np.max(logits, axis=-1)
    weights = np.exp(logits - highest[:, None])
    total = np.sum(weights, axis=-1)
    # Subtracting before adding the logarithm keeps large equal logits exact.
    nll = (highest - logits[np.arange(len(targets)), targets]) + np.log(total)
    return nll, CrossEntropy(selected, weights / total[:, None])


def linear_cross_entropy_backward(
    multiply: Multiply,
    h: Float64,
    w: Float64,
    rows: Indices,
    targets: Indices,
    kept: CrossEntropy,
    incoming: Float64,
) -> Float64:
    """The gradient of h; rows that no target reads get zeros, a row that several read gets their sum."""
    made = np.zeros_like(h)
    np.add.at(made, rows, multiply(_logit_gradient(kept, targets, incoming), w))
    return made


def linear_cross_entropy_head_gradient(
    multiply: Multiply, targets: Indices, kept: CrossEntropy, incoming: Float64
) -> Float64:
    """The gradient of w, apart because training freezes the head."""
    return multiply(_logit_gradient(kept, targets, incoming).T, kept.selected)


def _logit_gradient(kept: CrossEntropy, targets: Indices, incoming: Float64) -> Float64:
    gradient = kept.probabilities.copy()
    gradient[np.arange(len(targets)), targets] -= 1.0
    return gradient * incoming[:, None]
