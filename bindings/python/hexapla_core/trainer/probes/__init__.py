"""The `probe` request: scenarios of docs/probes.md, one file an axis.

Separate from the trainer's stages, which they use: what a scenario needs beyond them comes from the safe
layer, and raw ids only from its `testing` part.
"""

from __future__ import annotations

import gc
from typing import Any

from hexapla_core.trainer.events import Events
from hexapla_core.trainer.probes import errors, memory, ownership, threads
from hexapla_core.trainer.probes.common import Scenario, Skipped
from hexapla_core.trainer.requests import check_members, check_train

SCENARIOS: dict[str, Scenario] = {
    **threads.SCENARIOS,
    **memory.SCENARIOS,
    **ownership.SCENARIOS,
    **errors.SCENARIOS,
}

__all__ = ["SCENARIOS", "Skipped", "answer_probe"]


def answer_probe(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """Play one scenario; everything that it made is released before its event."""
    name, parameters = request["scenario"], request["parameters"]
    if name not in SCENARIOS:
        raise Skipped(f"unknown scenario {name!r:.60}")
    scenario = SCENARIOS[name]
    check_members(parameters, scenario.parameters, "parameters.")
    if "train" in scenario.parameters:
        check_train(parameters["train"])
    seen = scenario.play(request["context"], parameters)
    gc.collect()
    events.send("probe", scenario=name, seen=seen)
    return {}
