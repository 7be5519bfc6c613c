"""Learning rate, gradient norm, clip and AdamW.

Apart from training because the `operators` request runs them alone. Only what the specification rounds is
rounded.
"""

# ruff: noqa: PLR0913 -- the arguments are the formula's own.

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .config import Spec
from .tensors import Float64


def learning_rate(spec: Spec, update: int) -> float:
    """The rate of an update (from 1): computed in float64, rounded once to float32, widened again."""
    warmup, total, floor = spec.warmup_updates, spec.updates, spec.decay_floor
    if update <= warmup:
        factor = update / warmup
    elif spec.decay == "cosine":
        factor = floor + (1 - floor) * (1 + math.cos(math.pi * (update - warmup) / (total - warmup))) / 2
    else:
        factor = floor + (1 - floor) * (total - update) / (total - warmup)
    return float(np.float32(spec.learning_rate * factor))


def gradient_norm(gradients: Iterable[Float64]) -> float:
    """Square root of the sum of squares over all gradients, tensor after tensor."""
    total = 0.0
    for gradient in gradients:
        total += float(np.sum(gradient * gradient))
    return math.sqrt(total)


def clip_factor(norm: float, clip_norm: float) -> float:
    """What every gradient is multiplied by: f32(clip_norm / norm), or 1 when the norm does not exceed the
    limit."""
    return float(np.float32(clip_norm / norm)) if norm > clip_norm else 1.0


def adamw(
    p: Float64,
    g: Float64,
    m: Float64,
    v: Float64,
    *,
    learning_rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    weight_decay: float,
    step: int,
) -> tuple[Float64, Float64, Float64]:
    """One AdamW update of one tensor, `step` counted from 1; returns the new p, m, v."""
    p = p * (1 - learning_rate * weight_decay)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    corrected = np.sqrt(v / (1 - beta2**step)) + epsilon
    return p - learning_rate * (m / (1 - beta1**step)) / corrected, m, v
