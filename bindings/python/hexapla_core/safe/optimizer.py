"""What happens to gradients after backward: global norm, clip, AdamW.

Separate by the header it mirrors, `hexapla/optimizer.h`. All tensors contiguous, of one context; the i-th of
each list belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hexapla_core.safe.errors import call
from hexapla_core.safe.tensor import Tensor, ids
from hexapla_core.sys import ffi, lib


@dataclass(frozen=True)
class AdamW:
    """The numbers of one AdamW step; none has a default. step: k, from 1."""

    step: int
    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float


def gradient_norm(gradients: Sequence[Tensor]) -> float:
    """Square root of the f64 sum of squares over all gradients; not finite when one of them is not."""
    out = ffi.new("double *")
    call(lib.hxp_gradient_norm, ids(gradients), len(gradients), out)
    return float(out[0])


def clip(gradients: Sequence[Tensor], norm: float, clip_norm: float) -> bool:
    """If norm > clip_norm, multiply every gradient by f32(clip_norm / norm), in place. Whether it did."""
    clipped = ffi.new("int32_t *")
    call(lib.hxp_gradient_clip, ids(gradients), len(gradients), norm, clip_norm, clipped)
    return bool(clipped[0])


def adamw_step(
    options: AdamW,
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
) -> None:
    """One AdamW step, in place on parameters and both moments. Raises InvalidArgument."""
    lists = (parameters, gradients, exp_avgs, exp_avg_sqs)
    if len({len(tensors) for tensors in lists}) != 1:
        raise ValueError(f"lists of {[len(tensors) for tensors in lists]} tensors: lengths must be equal")
    numbers: Any = ffi.new("hxp_adamw_options *")
    lib.hxp_adamw_options_init(numbers)
    for name in AdamW.__dataclass_fields__:
        setattr(numbers, name, getattr(options, name))
    call(lib.hxp_adamw_step, numbers, *(ids(tensors) for tensors in lists), len(parameters))
