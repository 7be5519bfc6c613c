"""Gradient norm, clip and AdamW over named parameters.

Separate so that the `operators` request runs the same code as training does. `torch.optim.AdamW`
does the arithmetic; this file only gives its state the specification's names.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch


def gradient_norm(gradients: Iterable[torch.Tensor]) -> float:
    """sqrt of the f64 sum of squares, tensor by tensor in order."""
    total = torch.zeros((), dtype=torch.float64)
    for gradient in gradients:
        total += gradient.double().square().sum()
    return float(total.sqrt())


def clip(gradients: list[torch.Tensor], norm: float, clip_norm: float) -> bool:
    """Scale the gradients in place by f32(clip_norm / norm) if the norm is above; return whether it was."""
    if not norm > clip_norm:
        return False
    factor = to_f32(clip_norm / norm)
    for gradient in gradients:
        gradient.mul_(factor)
    return True


def to_f32(value: float) -> float:
    """The nearest f32, as f64."""
    return torch.tensor(value, dtype=torch.float32).item()


class AdamW:
    """`torch.optim.AdamW` over `parameters` (name → tensor, in adapter order), moments from zero."""

    def __init__(
        self,
        parameters: dict[str, torch.nn.Parameter],
        *,
        beta1: float,
        beta2: float,
        epsilon: float,
        weight_decay: float,
    ) -> None:
        self.parameters = parameters
        self._optimizer = torch.optim.AdamW(
            list(parameters.values()),
            lr=0.0,  # set before each update
            betas=(beta1, beta2),
            eps=epsilon,
            weight_decay=weight_decay,
            amsgrad=False,
            foreach=False,
            fused=False,
        )
        for name, parameter in parameters.items():
            self.set_state(name, 0, torch.zeros_like(parameter), torch.zeros_like(parameter))

    def set_state(self, name: str, update: int, moment: torch.Tensor, square: torch.Tensor) -> None:
        """Set m, v and the count of updates done for one parameter."""
        self._optimizer.state[self.parameters[name]] = {
            "step": torch.tensor(float(update)),
            "exp_avg": moment.detach().clone(),
            "exp_avg_sq": square.detach().clone(),
        }

    def moments(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        """m and v of one parameter."""
        state = self._optimizer.state[self.parameters[name]]
        return state["exp_avg"], state["exp_avg_sq"]

    def step(self, learning_rate: float) -> None:
        """One update from the parameters' gradients."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        self._optimizer.step()
