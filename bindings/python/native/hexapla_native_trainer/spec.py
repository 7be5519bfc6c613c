"""The specification of a run, checked key by key. No value has a default. Separate from the schedule's
use: here stands also η(k), since it follows from the keys alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapla_native_trainer.fields import Fields

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")
TARGETS = ATTENTION + FEED_FORWARD
TEMPLATES = ("qwen3", "chatml")


@dataclass(frozen=True)
class Spec:
    """SPEC's keys under their own names."""

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
    targets: frozenset[str]
    evaluate_every: int
    save_every: int
    template: str
    precision: str

    @property
    def lora_scale(self) -> float:
        return self.alpha / self.rank

    def learning_rate_at(self, update: int) -> float:
        """η(update): computed in f64, rounded to f32 once."""
        warm, last, floor = self.warmup_updates, self.updates, self.decay_floor
        if update <= warm:
            factor = update / warm
        elif self.decay == "cosine":
            angle = math.pi * (update - warm) / (last - warm)
            factor = floor + (1 - floor) * (1 + math.cos(angle)) / 2
        else:
            factor = floor + (1 - floor) * (last - update) / (last - warm)
        return float(np.float32(self.learning_rate * factor))


def parse_spec(value: Any) -> Spec:
    """Raises Refusal `spec` that names the key."""
    fields = Fields(value, "spec")

    def above_zero(key: str) -> float:
        number = fields.number(key)
        if not number > 0:
            raise fields.refuse(key, f"is {number}, must be above 0")
        return number

    def within(key: str, most: float, below: bool = False) -> float:
        number = fields.number(key)
        if not 0 <= number <= most or (below and number == most):
            raise fields.refuse(key, f"is {number}, is out of range")
        return number

    updates = fields.integer("updates", 1)
    batch = fields.integer("batch", 1)
    targets = fields.strings("targets")
    if len(set(targets)) != len(targets) or not targets or not set(targets) <= set(TARGETS):
        raise fields.refuse("targets", f"must be distinct names out of {', '.join(TARGETS)}")
    spec = Spec(
        seed=fields.integer("seed", 0, 2**31 - 1),
        updates=updates,
        batch=batch,
        micro_batch=fields.integer("micro_batch", 1, batch),
        length=fields.integer("length", 2),
        learning_rate=above_zero("learning_rate"),
        warmup_updates=fields.integer("warmup_updates", 0, updates),
        decay=fields.choice("decay", ("cosine", "linear")),
        decay_floor=within("decay_floor", 1.0),
        beta1=within("beta1", 1.0, True),
        beta2=within("beta2", 1.0, True),
        epsilon=above_zero("epsilon"),
        weight_decay=within("weight_decay", math.inf),
        clip_norm=above_zero("clip_norm"),
        rank=fields.integer("rank", 1),
        alpha=above_zero("alpha"),
        targets=frozenset(targets),
        evaluate_every=fields.integer("evaluate_every", 1),
        save_every=fields.integer("save_every", 1),
        template=fields.choice("template", TEMPLATES),
        precision=fields.choice("precision", ("f32",)),
    )
    fields.end()
    return spec
