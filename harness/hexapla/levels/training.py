"""A train request as a level asks it: its keys, made of what every implementation is given.

Separate because several levels train (whole, short, resumed, on other threads) and each key must mean the
same in all of them. It compares nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexapla.compare.trajectory import Trajectory
from hexapla.levels.level import Inputs
from hexapla.levels.session import Session
from hexapla.protocol import Event
from hexapla.spec import Spec


@dataclass(frozen=True, slots=True)
class Leg:
    """One train request: its id, where it writes, the updates it owes, and in what it is not the usual one.

    `context`: keys in which the context differs from the run's choice.
    """

    name: str
    output: Path
    updates: tuple[int, int]
    resume_from: Path | None = None
    stop_after: int | None = None
    schedule: str = "pinned"
    release: str = "explicit"
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of it. `ledger`: core's record of the calls, None without core."""

    run: Trajectory
    ledger: Path | None


def shortened(spec: Spec, updates: int, save_every: int) -> Spec:
    """The first updates of a specification as a run of their own: evaluated at its end only."""
    updates = min(updates, int(spec["updates"]))
    values = {
        **spec.values,
        "updates": updates,
        "warmup_updates": min(int(spec["warmup_updates"]), updates),
        "evaluate_every": updates,
        "save_every": min(save_every, updates),
    }
    return Spec(f"{spec.name}-{updates}", values)


def train_keys(inputs: Inputs, spec: Spec, output: Path) -> dict[str, Any]:
    """The keys of a train request, context left out, for a run from the start to the end."""
    return {
        "spec": spec.values,
        "spec_digest": spec.digest,
        "model": str(inputs.model),
        "tokenizer": str(inputs.tokenizer),
        "train": str(inputs.train),
        "heldout": str(inputs.heldout),
        "adapter": str(inputs.adapter),
        "output": str(output),
        "resume_from": None,
        "stop_after": None,
        "schedule": "pinned",
        "release": "explicit",
    }


def train(
    session: Session, inputs: Inputs, spec: Spec, leg: Leg, heard: Callable[[Event], None] | None = None
) -> Trained:
    """Train into an emptied folder. Raises what Session.ask raises."""
    shutil.rmtree(leg.output, ignore_errors=True)
    leg.output.mkdir(parents=True)
    keys = train_keys(inputs, spec, leg.output) | {
        "resume_from": str(leg.resume_from) if leg.resume_from else None,
        "stop_after": leg.stop_after,
        "schedule": leg.schedule,
        "release": leg.release,
    }
    answer = session.ask("train", leg.name, heard=heard, context=leg.context, **keys)
    run = Trajectory.from_parsed(session.name, [*answer.events, answer.end], leg.updates)
    return Trained(run, answer.ledger)


def checkpoint_folder(output: Path, update: int) -> Path:
    """Where a run into `output` leaves its checkpoint of an update."""
    return output / f"checkpoint-{update:06d}"
