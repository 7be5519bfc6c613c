"""The training specification, checked key by key; no value has a default."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

from hexapla_core.trainer.failure import Failure

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TEMPLATES = ("qwen3", "chatml")
_INTEGERS = {
    "seed": (0, 2**31 - 1),
    "updates": (1, None),
    "batch": (1, None),
    "micro_batch": (1, None),
    "length": (2, None),
    "warmup_updates": (0, None),
    "rank": (1, None),
    "evaluate_every": (1, None),
    "save_every": (1, None),
}
_ABOVE_ZERO = ("learning_rate", "epsilon", "clip_norm", "alpha")
_WORDS = {"decay": ("cosine", "linear"), "template": TEMPLATES, "precision": ("f32",)}


@dataclass(frozen=True)
class Spec:
    """One run, fixed. Fields as in docs/spec.md."""

    seed: int
    updates: int
    batch: int
    micro_batch: int
    length: int
    learning_rate: float
    warmup_updates: int
    decay: str
    decay_floor: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    clip_norm: float
    rank: int
    alpha: float
    targets: tuple[str, ...]
    evaluate_every: int
    save_every: int
    template: str
    precision: str

    @property
    def scale(self) -> float:
        """The factor of an adapter's product."""
        return self.alpha / self.rank

    def learning_rate_at(self, update: int) -> float:
        """η of an update (from 1): computed in f64, rounded to f32."""
        total, warmup, floor = self.updates, self.warmup_updates, self.decay_floor
        if update <= warmup:
            factor = update / warmup
        elif self.decay == "cosine":
            factor = floor + (1 - floor) * (1 + math.cos(math.pi * (update - warmup) / (total - warmup))) / 2
        else:
            factor = floor + (1 - floor) * (total - update) / (total - warmup)
        return f32(self.learning_rate * factor)


def f32(value: float) -> float:
    """The nearest f32."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def parse_spec(values: dict[str, Any]) -> Spec:
    """Check a spec object. Raises Failure that names the key."""
    for key in values:
        if key not in Spec.__dataclass_fields__:
            raise Failure("spec", f"unknown key {key}", key)
    for key in Spec.__dataclass_fields__:
        if key not in values:
            raise Failure("spec", f"missing key {key}", key)
    for key, (low, high) in _INTEGERS.items():
        _integer(key, values[key], low, 2**53 - 1 if high is None else high)
    for key in _ABOVE_ZERO:
        _require(_real(key, values[key]) > 0, key, values[key], "must be above 0")
    _require(
        _real("weight_decay", values["weight_decay"]) >= 0,
        "weight_decay",
        values["weight_decay"],
        "must be ≥ 0",
    )
    for key in ("beta1", "beta2"):
        _require(0 <= _real(key, values[key]) < 1, key, values[key], "must be in [0, 1)")
    floor = _real("decay_floor", values["decay_floor"])
    _require(0 <= floor <= 1, "decay_floor", floor, "must be in [0, 1]")
    for key, words in _WORDS.items():
        _require(values[key] in words, key, values[key], f"must be {' or '.join(words)}")
    _targets(values["targets"])
    batch, updates = values["batch"], values["updates"]
    _require(
        values["micro_batch"] <= batch,
        "micro_batch",
        values["micro_batch"],
        f"must be at most batch, {batch}",
    )
    warmup = values["warmup_updates"]
    _require(warmup <= updates, "warmup_updates", warmup, f"must be at most updates, {updates}")
    return Spec(**{**values, "targets": tuple(values["targets"])})


def _require(holds: bool, key: str, value: Any, rule: str) -> None:
    if not holds:
        raise Failure("spec", f"{key} is {value!r}, {rule}", key)


def _integer(key: str, value: Any, low: int, high: int) -> None:
    fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    _require(fits, key, value, f"must be an integer from {low} to {high}")


def _real(key: str, value: Any) -> float:
    _require(isinstance(value, int | float) and not isinstance(value, bool), key, value, "must be a number")
    return float(value)


def _targets(value: Any) -> None:
    _require(isinstance(value, list) and value != [], "targets", value, "must be a list of names")
    for name in value:
        _require(name in TARGETS, "targets", name, f"must be one of {', '.join(TARGETS)}")
    _require(len(set(value)) == len(value), "targets", value, "must be distinct")
