"""The `hello`, `abi` and `bye` requests: who is speaking, what it believes of C, and what is left."""

from __future__ import annotations

import gc
import platform
from typing import Any

from hexapla_core.safe import abi_version, build_faults, build_info, process_memory
from hexapla_core.safe.library import constants, layouts
from hexapla_core.trainer.events import Events
from hexapla_core.trainer.probes import SCENARIOS
from hexapla_core.trainer.requests import PROTOCOL, REQUESTS


def answer_hello(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """Names, versions, capabilities."""
    words = ["migrating", "collector", "spill", "memory_limit", "ledger"]
    events.send(
        "hello",
        protocol=PROTOCOL,
        implementation="python",
        language="Python",
        runtime=f"{platform.python_implementation()} {platform.python_version()}",
        stack="core",
        core=build_info(),
        faults=build_faults(),
        capabilities=[*REQUESTS, *(f"probe.{name}" for name in SCENARIOS), *words],
    )
    return {}


def answer_abi(request: dict[str, Any], events: Events) -> dict[str, Any]:
    """Structs, handle aliases and constants as this binding declares them."""
    types = {
        name: {
            "size": layout.size,
            "align": layout.align,
            "fields": {field: list(place) for field, place in layout.fields.items()},
        }
        for name, layout in layouts().items()
    }
    events.send("abi", abi_version=abi_version(), types=types, constants=constants())
    return {}


def send_bye(events: Events) -> int:
    """The `bye` event; the number of handles that are live."""
    gc.collect()  # a request that failed may have left handles to the collector
    memory = process_memory()
    events.send("bye", handles_live=memory.live_handles, bytes_live=memory.live_bytes)
    return memory.live_handles
