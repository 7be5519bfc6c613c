"""The operations of the `operators` request by name: attributes, checks, forward, backward.

Apart from running cases because this is a table, and the tests hold each row of it to finite differences and
torch. Matrices are multiplied without a BLAS here.
"""

# ruff: noqa: PLR0913 -- the arguments are the formula's own.

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import fields, ops
from .optimizer import adamw, clip_factor, gradient_norm
from .tensors import Float64

Outputs = dict[
    str, Float64
]  # "" is the single output, else the part behind `output.`; `#0` is input 0's name
Pull = Callable[[Float64], Sequence[Float64]]  # incoming gradient to the inputs', in their order
Op = Callable[..., tuple[Outputs, Pull | None]]


def _require(good: bool, message: str) -> None:
    if not good:
        raise ValueError(message)


def _index_array(values: Sequence[int], limit: int, what: str) -> ops.Indices:
    made = np.array(values, dtype=np.int64)
    _require(bool(np.all((made >= 0) & (made < limit))), f"{what} must lie in 0 to {limit - 1}")
    return made


def _embedding(table: Float64, *, ids: list[int]) -> tuple[Outputs, Pull]:
    indices = _index_array(ids, len(table), "ids")
    return {"": ops.embedding(table, indices)}, lambda g: [ops.embedding_backward(table, indices, g)]


def _rms_norm(x: Float64, gain: Float64, *, epsilon: float) -> tuple[Outputs, Pull]:
    _require(gain.shape == x.shape[-1:], f"gain is {gain.shape}, x {x.shape}")
    y, inverse = ops.rms_norm(x, gain, epsilon)
    return {"": y}, lambda g: ops.rms_norm_backward(x, gain, inverse, g)


def _linear(x: Float64, w: Float64) -> tuple[Outputs, Pull]:
    return {"": ops.linear(ops.plain, x, w)}, lambda g: ops.linear_backward(ops.plain, x, w, g)


def _lora_linear(x: Float64, w: Float64, a: Float64, b: Float64, *, scale: float) -> tuple[Outputs, Pull]:
    y, low = ops.lora_linear(ops.plain, x, w, a, b, scale)

    def pull(g: Float64) -> list[Float64]:
        x_gradient, a_gradient, b_gradient = ops.lora_linear_backward(ops.plain, x, w, a, b, scale, low, g)
        return [x_gradient, ops.plain(g.T, x), a_gradient, b_gradient]

    return {"": y}, pull


def _rope(x: Float64, *, positions: list[int], theta: float) -> tuple[Outputs, Pull]:
    _require(x.ndim == 3 and x.shape[2] % 2 == 0, f"x is {x.shape}, expected [rows, heads, an even head_dim]")
    _require(len(positions) == len(x), f"{len(positions)} positions for {len(x)} rows")
    cosine, sine = ops.rope_angles(np.array(positions, dtype=np.int64), x.shape[2], theta)
    return {"": ops.rope(x, cosine, sine)}, lambda g: [ops.rope(g, cosine, -sine)]


def _attention(
    q: Float64, k: Float64, v: Float64, *, starts: list[int], heads: int, kv_heads: int, causal: bool
) -> tuple[Outputs, Pull]:
    _require(q.ndim == 3 and q.shape[1] == heads, f"q is {q.shape}, expected {heads} heads")
    expected = (len(q), kv_heads, q.shape[2])
    _require(k.shape == expected and v.shape == expected, f"k is {k.shape}, v {v.shape}, expected {expected}")
    _require(kv_heads > 0 and heads % kv_heads == 0, f"{heads} heads do not divide into {kv_heads}")
    rising = all(low <= high for low, high in zip([0, *starts], [*starts, len(q)], strict=True))
    _require(rising and len(starts) >= 1, f"starts {starts} must rise within 0 to {len(q)}")
    y, records = ops.attention(ops.plain, q, k, v, starts, causal)
    return {"": y}, lambda g: ops.attention_backward(ops.plain, q, k, v, records, g)


def _swiglu(g: Float64, u: Float64) -> tuple[Outputs, Pull]:
    _require(g.shape == u.shape, f"g is {g.shape}, u {u.shape}")
    return {"": ops.swiglu(g, u)}, lambda incoming: ops.swiglu_backward(g, u, incoming)


def _add(a: Float64, b: Float64) -> tuple[Outputs, Pull]:
    _require(a.shape == b.shape, f"a is {a.shape}, b {b.shape}")
    return {"": a + b}, lambda g: [g, g]


def _scale(x: Float64, *, scale: float) -> tuple[Outputs, Pull]:
    return {"": scale * x}, lambda g: [scale * g]


def _linear_cross_entropy(
    h: Float64, w: Float64, *, rows: list[int], targets: list[int]
) -> tuple[Outputs, Pull]:
    _require(len(rows) == len(targets), f"{len(rows)} rows for {len(targets)} targets")
    row_of, target = _index_array(rows, len(h), "rows"), _index_array(targets, len(w), "targets")
    nll, kept = ops.linear_cross_entropy(ops.plain, h, w, row_of, target)

    def pull(g: Float64) -> list[Float64]:
        return [
            ops.linear_cross_entropy_backward(ops.plain, h, w, row_of, target, kept, g),
            ops.linear_cross_entropy_head_gradient(ops.plain, target, kept, g),
        ]

    return {"": nll}, pull


def _matmul(a: Float64, b: Float64) -> tuple[Outputs, Pull]:
    return {"": ops.plain(a, b)}, lambda g: [ops.plain(g, b.T), ops.plain(a.T, g)]


def _softmax(x: Float64) -> tuple[Outputs, Pull]:
    y = ops.softmax(x)
    return {"": y}, lambda g: [ops.softmax_backward(y, g)]


def _transpose(x: Float64) -> tuple[Outputs, Pull]:
    return {"": x.swapaxes(-1, -2)}, lambda g: [g.swapaxes(-1, -2)]


def _reshape(x: Float64, *, shape: list[int]) -> tuple[Outputs, Pull]:
    _require(all(size >= 0 for size in shape), f"the shape {shape} has a negative size")
    return {"": x.reshape(shape)}, lambda g: [g.reshape(x.shape)]


def _reduce_sum(x: Float64, *, axis: int) -> tuple[Outputs, Pull]:
    """The axis goes; of a 1-D tensor [1] is left, since no tensor here is a scalar."""
    _require(-x.ndim <= axis < x.ndim, f"axis {axis} of a tensor with {x.ndim} axes")
    y = x.sum(axis=axis, keepdims=x.ndim == 1)

    def pull(g: Float64) -> list[Float64]:
        widened = g if x.ndim == 1 else np.expand_dims(g, axis)
        return [np.broadcast_to(widened, x.shape).copy()]

    return {"": y}, pull


def _gradient_norm(*gradients: Float64) -> tuple[Outputs, None]:
    return {"": np.array([gradient_norm(gradients)])}, None


def _clip(*gradients: Float64, clip_norm: float) -> tuple[Outputs, None]:
    norm = gradient_norm(gradients)
    factor = clip_factor(norm, clip_norm)
    clipped = {f"#{index}": gradient * factor for index, gradient in enumerate(gradients)}
    return {"norm": np.array([norm]), **clipped}, None


def _adamw(p: Float64, g: Float64, m: Float64, v: Float64, **attributes: float) -> tuple[Outputs, None]:
    _require(p.shape == g.shape == m.shape == v.shape, "p, g, m and v must have one shape")
    made = adamw(p, g, m, v, **attributes)  # type: ignore[arg-type]
    return dict(zip(("p", "m", "v"), made, strict=True)), None


_NUMBER = fields.number("a number", lambda value: True)

OPS: dict[str, tuple[Op, dict[str, fields.Kind]]] = {
    "embedding": (_embedding, {"ids": fields.integers}),
    "rms_norm": (_rms_norm, {"epsilon": _NUMBER}),
    "linear": (_linear, {}),
    "lora_linear": (_lora_linear, {"scale": _NUMBER}),
    "rope": (_rope, {"positions": fields.integers, "theta": _NUMBER}),
    "attention": (
        _attention,
        {
            "starts": fields.integers,
            "heads": fields.integer(1),
            "kv_heads": fields.integer(1),
            "causal": fields.boolean,
        },
    ),
    "swiglu": (_swiglu, {}),
    "add": (_add, {}),
    "scale": (_scale, {"scale": _NUMBER}),
    "linear_cross_entropy": (_linear_cross_entropy, {"rows": fields.integers, "targets": fields.integers}),
    "matmul": (_matmul, {}),
    "softmax": (_softmax, {}),
    "transpose": (_transpose, {}),
    "reshape": (_reshape, {"shape": fields.integers}),
    "reduce_sum": (_reduce_sum, {"axis": fields.integer(-8, 8)}),
    "gradient_norm": (_gradient_norm, {}),
    "clip": (_clip, {"clip_norm": _NUMBER}),
    "adamw": (
        _adamw,
        {
            "learning_rate": _NUMBER,
            "beta1": _NUMBER,
            "beta2": _NUMBER,
            "epsilon": _NUMBER,
            "weight_decay": _NUMBER,
            "step": fields.integer(1),
        },
    ),
}
