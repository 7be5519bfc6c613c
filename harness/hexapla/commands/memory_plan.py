"""How much device memory a run plans to use: c's recorded peak where there is one, else the weights alone.

Separate from the reading of the device (`process.headroom`): a plan is made of inputs and baselines.
"""

from __future__ import annotations

from hexapla.envelope.baseline import recorded_for
from hexapla.levels.level import Inputs
from hexapla.process.headroom import Headroom, headroom_of, weights_bytes


def planned_use(device: str, inputs: Inputs, jobs: int) -> Headroom:
    """The device, and what `jobs` implementations at once will hold on it."""
    weights = weights_bytes(inputs.model)
    baseline = recorded_for(inputs.spec, inputs.model)
    peak = baseline.figures("c").get("device_bytes_peak") if baseline is not None else None
    if isinstance(peak, (int, float)):
        return headroom_of(device, int(peak) * jobs, f"{jobs} at once, c's recorded peak each")
    planned = None if weights is None else weights * jobs
    return headroom_of(device, planned, f"at least: {jobs} at once, weights in f32 each")
