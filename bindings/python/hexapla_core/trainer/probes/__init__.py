"""The `probe` request: scenarios of docs/probes.md, by axis."""

from __future__ import annotations

from typing import Any

from hexapla_core.trainer.events import Events

SCENARIOS: dict[str, object] = {}


class Skipped(Exception):
    """What this trainer does not know or cannot do, and why."""


def answer_probe(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """Play one scenario."""
    raise Skipped(f"unknown scenario {request['scenario']!r:.60}")
