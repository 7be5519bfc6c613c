"""The training specification: reading, checking and digesting one.

Separate because a specification is checked once, here, and every trainer then gets the same object and
the same digest. The shipped ones are the JSON files beside this module. No default is ever filled in:
a missing key is an error that names it (SPEC.md, first paragraph).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from hexapla.protocol import LineError
from hexapla.protocol.lines import parse_object

SHIPPED = ("tiny", "micro", "full")
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class SpecError(ValueError):
    """A specification that cannot be run: one line, the key, its value and what it must be."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A checked specification. `values` is sent to trainers as it was read."""

    name: str
    values: dict[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON: sorted keys, no spaces, numbers as Python writes them."""
        text = json.dumps(self.values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def __getitem__(self, key: str) -> Any:
        return self.values[key]


def load_spec(name_or_path: str) -> Spec:
    """A shipped specification by its name, or one from a file. Raises SpecError."""
    if name_or_path in SHIPPED:
        raw = files("hexapla.spec").joinpath(f"{name_or_path}.json").read_bytes()
        name = name_or_path
    else:
        path = Path(name_or_path)
        try:
            raw = path.read_bytes()
        except OSError as error:
            shipped = ", ".join(SHIPPED)
            raise SpecError(
                f"spec {name_or_path}: {error.strerror}; give a file or one of {shipped}"
            ) from None
        name = path.stem
    try:
        values = parse_object(raw)
    except LineError as error:
        raise SpecError(f"spec {name_or_path}: {error}") from None
    try:
        check_spec(values)
    except SpecError as error:
        raise SpecError(f"spec {name_or_path}: {error}") from None
    return Spec(name, values)


def check_spec(values: dict[str, Any]) -> None:
    """Refuse a missing, unknown or out-of-range key by name. Raises SpecError."""
    for key in values:
        if key not in _RULES:
            raise SpecError(f"{key}: unknown key")
    for key, (holds, demand) in _RULES.items():
        if key not in values:
            raise SpecError(f"{key}: missing; it must be {demand}")
        if not holds(values[key]):
            raise SpecError(f"{key}: is {json.dumps(values[key])}, must be {demand}")
    if values["micro_batch"] > values["batch"]:
        raise SpecError(f"micro_batch: is {values['micro_batch']}, must be at most batch ({values['batch']})")
    if values["warmup_updates"] > values["updates"]:
        raise SpecError(
            f"warmup_updates: is {values['warmup_updates']}, must be at most updates ({values['updates']})"
        )


_Rule = tuple[Callable[[Any], bool], str]


def _integer(low: int, high: int = 2**53 - 1) -> _Rule:
    def holds(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return holds, f"an integer from {low} to {high}"


def _number(holds: Callable[[float], bool], demand: str) -> _Rule:
    def check(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value) and holds(value)

    return check, f"a number {demand}"


def _choice(*words: str) -> _Rule:
    return (lambda value: isinstance(value, str) and value in words), "one of " + ", ".join(words)


def _targets(value: Any) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        return False
    return len(set(value)) == len(value) and set(value) <= set(TARGETS)


_POSITIVE = _number(lambda value: value > 0, "above 0")
_BETA = _number(lambda value: 0 <= value < 1, "from 0 to below 1")

_RULES: dict[str, _Rule] = {
    "seed": _integer(0, 2**31 - 1),
    "updates": _integer(1),
    "batch": _integer(1),
    "micro_batch": _integer(1),
    "length": _integer(2),
    "learning_rate": _POSITIVE,
    "warmup_updates": _integer(0),
    "decay": _choice("cosine", "linear"),
    "decay_floor": _number(lambda value: 0 <= value <= 1, "from 0 to 1"),
    "beta1": _BETA,
    "beta2": _BETA,
    "epsilon": _POSITIVE,
    "weight_decay": _number(lambda value: value >= 0, "of 0 or more"),
    "clip_norm": _POSITIVE,
    "rank": _integer(1),
    "alpha": _POSITIVE,
    "targets": (_targets, "a list of distinct names out of " + ", ".join(TARGETS)),
    "evaluate_every": _integer(1),
    "save_every": _integer(1),
    "template": _choice("qwen3", "chatml"),
    "precision": _choice("f32"),
}
