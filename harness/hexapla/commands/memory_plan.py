"""How much device memory a run plans to use: c's recorded peak where there is one, else the weights alone.

Separate from the reading of the device (`process.headroom`): a plan is made of inputs and baselines.
"""

from __future__ import annotations

from hexapla.envelope.baseline import load_baseline
from hexapla.levels.level import Inputs
from hexapla.process.headroom import Headroom, headroom_of, weights_bytes


def planned_use(device: str, inputs: Inputs, jobs: int) -> Headroom:
    """The device, and what `jobs` implementations at once will hold on it."""
    weights = weights_bytes(inputs.model)
    baseline = load_baseline(inputs.spec.name)
    peak = None
    if baseline is not None and baseline.digest == inputs.spec.digest:
        peak = baseline.figures("c").get("device_bytes_peak")
    # A model of one's own is larger than the embedded one that the baseline was recorded with.
    if isinstance(peak, (int, float)) and weights is not None and weights < peak:
        return headroom_of(device, int(peak) * jobs, f"{jobs} at once, c's recorded peak each")
    planned = None if weights is None else weights * jobs
    return headroom_of(device, planned, f"at least: {jobs} at once, weights in f32 each")
