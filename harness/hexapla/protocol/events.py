"""Events as typed values.

Separate so that levels read `step.loss`, not `event["loss"]`, and so that the strings "NaN",
"Infinity" and "-Infinity" become floats in one place. A message comes here only after its schema
was checked; what the schema cannot say (X_bits must be the bits of X) is checked here.
"""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass
from typing import Any

from hexapla.protocol.validate import SchemaError


@dataclass(frozen=True, slots=True)
class Event:
    """What every event has: the id of the request it answers."""

    id: str


@dataclass(frozen=True, slots=True)
class Progress(Event):
    done: int
    total: int
    unit: str


@dataclass(frozen=True, slots=True)
class Skipped(Event):
    reason: str


@dataclass(frozen=True, slots=True)
class Error(Event):
    status: str
    message: str
    where: str


@dataclass(frozen=True, slots=True)
class Bye(Event):
    handles_live: int | None
    bytes_live: int | None


@dataclass(frozen=True, slots=True)
class Hello(Event):
    protocol: int
    implementation: str
    language: str
    runtime: str
    stack: str
    core: str | None
    faults: list[str]
    capabilities: list[str]


@dataclass(frozen=True, slots=True)
class Abi(Event):
    abi_version: int
    types: dict[str, Any]
    constants: dict[str, int]


@dataclass(frozen=True, slots=True)
class CaseResult(Event):
    case: str
    ok: bool
    message: str


@dataclass(frozen=True, slots=True)
class TensorInfo(Event):
    name: str
    shape: list[int]
    dtype: str
    digest: str


@dataclass(frozen=True, slots=True)
class Record(Event):
    """A rendered record; `rejected` is None and both lists are given, or the other way round."""

    record: str
    ids: list[int] | None = None
    labels: str | None = None
    rejected: str | None = None


@dataclass(frozen=True, slots=True)
class Data(Event):
    train: int
    heldout: int
    rejected: dict[str, int]
    markers: int


@dataclass(frozen=True, slots=True)
class Step(Event):
    """One update. loss: nats per label; milliseconds: wall time of the update alone."""

    step: int
    epoch: int
    records: int
    tokens: int
    labels: int
    loss: float
    loss_bits: str
    gradient_norm: float
    gradient_norm_bits: str
    clipped: bool
    learning_rate: float
    learning_rate_bits: str
    batch_digest: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Evaluation(Event):
    """Held-out cross-entropy. total: nats over all labels; record_nll: nats, in file order."""

    step: int
    adapter: bool
    loss: float
    loss_bits: str
    total: float
    total_bits: str
    labels: int
    record_nll: list[float]
    adapter_digest: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint(Event):
    step: int
    path: str
    adapter_digest: str
    optimizer_digest: str


@dataclass(frozen=True, slots=True)
class Probe(Event):
    scenario: str
    seen: dict[str, float | str]


@dataclass(frozen=True, slots=True)
class Done(Event):
    """The end of a request that went well; `values` holds the keys that its kind adds."""

    values: dict[str, Any]


_TYPES: dict[str, type[Event]] = {
    "progress": Progress,
    "skipped": Skipped,
    "error": Error,
    "bye": Bye,
    "hello": Hello,
    "abi": Abi,
    "case": CaseResult,
    "tensor": TensorInfo,
    "record": Record,
    "data": Data,
    "step": Step,
    "evaluation": Evaluation,
    "checkpoint": Checkpoint,
    "probe": Probe,
}


def event_name(event: Event) -> str:
    """The protocol's name of an event."""
    if isinstance(event, Done):
        return "done"
    return next(name for name, kind in _TYPES.items() if type(event) is kind)


def parse_event(message: dict[str, Any]) -> Event:
    """Make a typed event of a message that fits its schema.

    Raises SchemaError when an `X_bits` is not the bit pattern of the X beside it.
    """
    values = {key: value for key, value in message.items() if key != "event"}
    if message["event"] == "done":
        return Done(id=values.pop("id"), values=values)
    kind = _TYPES[message["event"]]
    for key in _FLOAT_FIELDS[message["event"]]:
        value = values[key]
        values[key] = [float(item) for item in value] if isinstance(value, list) else float(value)
        bits = values.get(f"{key}_bits")
        # NaN has many patterns, and none of them says more than NaN.
        if bits is not None and values[key] == values[key] and bits != float_bits(values[key]):
            right = float_bits(values[key])
            name = message["event"]
            raise SchemaError(f"event {name!r}: {key}_bits is {bits}, the bits of {key} are {right}")
    return kind(**values)


def float_bits(value: float) -> str:
    """`0x` and the 16 hex digits of an f64."""
    return "0x" + struct.pack(">d", value).hex()


_FLOAT_FIELDS = {
    name: tuple(field.name for field in dataclasses.fields(kind) if field.type in ("float", "list[float]"))
    for name, kind in _TYPES.items()
}
