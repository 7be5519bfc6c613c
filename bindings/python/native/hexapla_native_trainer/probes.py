"""The `probe` request: which scenario goes where, and what one is given. The scenarios stand in four
files, one an axis.
"""

from __future__ import annotations

from hexapla_native_trainer import probes_errors, probes_memory, probes_ownership, probes_threads
from hexapla_native_trainer.devices import take_context
from hexapla_native_trainer.events import Events
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.probe import Scenario
from hexapla_native_trainer.refusal import At, Skip

SCENARIOS: dict[str, Scenario] = {
    **probes_threads.SCENARIOS,
    **probes_memory.SCENARIOS,
    **probes_ownership.SCENARIOS,
    **probes_errors.SCENARIOS,
}


def answer_probe(fields: Fields, events: Events) -> None:
    name = fields.string("scenario")
    parameters = Fields(fields.take("parameters"), "request", "parameters")
    choice = take_context(fields)
    fields.end()
    scenario = SCENARIOS.get(name)
    if scenario is None:
        raise Skip(f"scenario {name!r:.80} is unknown here")
    with At(name):
        seen = scenario(choice, parameters)
    events.send("probe", scenario=name, seen=seen)
    events.send("done")
