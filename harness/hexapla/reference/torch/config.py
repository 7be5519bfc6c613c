"""What a request may say: its keys, the context and the training specification.

Separate so that every value is checked once, before anything is loaded, and by name. It has no
defaults: a missing, unknown or out-of-range key ends the request. It must not touch torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .failure import Failure, Skip

INTEGER_BOUND = 2**53
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TEMPLATES = ("qwen3", "chatml")

# Beside protocol, id and request, which every request has: key → its type's letter in PROTOCOL.md.
REQUEST_KEYS: dict[str, dict[str, str]] = {
    "hello": {},
    "abi": {},
    "operators": {"context": "o", "cases": "a", "file": "s", "output": "s"},
    "load": {"context": "o", "model": "s"},
    "render": {"tokenizer": "s", "records": "s", "template": "s", "length": "i"},
    "evaluate": {
        "context": "o",
        "spec": "o",
        "model": "s",
        "tokenizer": "s",
        "heldout": "s",
        "adapter": "s?",
    },
    "train": {
        "context": "o",
        "spec": "o",
        "spec_digest": "s",
        "model": "s",
        "tokenizer": "s",
        "train": "s",
        "heldout": "s",
        "adapter": "s",
        "output": "s",
        "resume_from": "s?",
        "stop_after": "i?",
        "schedule": "s",
        "release": "s",
    },
    "probe": {"context": "o", "scenario": "s", "parameters": "o"},
    "bye": {},
}
CASE_KEYS = {"case": "s", "op": "s", "attributes": "o", "inputs": "a", "gradients": "a"}
_CONTEXT_KEYS = {"device": "s", "threads": "i", "memory_limit": "i", "spill": "b", "ledger": "s?"}
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "s": ("a string", (str,)),
    "i": ("an integer", (int,)),
    "f": ("a number", (int, float)),
    "b": ("a boolean", (bool,)),
    "o": ("an object", (dict,)),
    "a": ("a list", (list,)),
}


def check_keys(value: Any, keys: dict[str, str], status: str, what: str, prefix: str = "") -> None:
    """Refuse `value` unless it is an object with exactly `keys`, each of its type."""
    if not isinstance(value, dict):
        raise Failure(status, f"{what} must be an object, not {shown(value)}", prefix or what)
    for key in value:
        if key not in keys:
            raise Failure(status, f"{what} has the unknown key {shown(key)}", prefix + key)
    for key, kind in keys.items():
        if key not in value:
            raise Failure(status, f"{what} lacks the key {shown(key)}", prefix + key)
        if not _has_type(value[key], kind):
            expected = _TYPES[kind[0]][0] + (" or null" if kind.endswith("?") else "")
            raise Failure(status, f"{key} must be {expected}, not {shown(value[key])}", prefix + key)


def _has_type(value: Any, kind: str) -> bool:
    if value is None:
        return kind.endswith("?")
    # `type`, not `isinstance`: to Python true is an int.
    return type(value) in _TYPES[kind[0]][1] and (kind[0] != "i" or abs(value) < INTEGER_BOUND)


def shown(value: Any) -> str:
    """`value` as JSON, cut to a length that fits one line of an error."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def checked_threads(context: dict[str, Any]) -> int:
    """Check the `context` of a request and return its thread count (torch keeps no context of its own)."""
    check_keys(context, _CONTEXT_KEYS, "request", "context", "context.")
    if context["threads"] < 1:
        raise Failure("request", f"threads must be at least 1, not {context['threads']}", "context.threads")
    if context["memory_limit"] < 0:
        message = f"memory_limit must be 0 or more bytes, not {context['memory_limit']}"
        raise Failure("request", message, "context.memory_limit")
    if not context["device"].startswith("cpu:"):
        raise Skip(f"the torch trainer runs on cpu only, not on {context['device']}")
    if context["memory_limit"]:
        raise Skip("torch has no cap on host memory: memory_limit must be 0")
    if context["spill"]:
        raise Skip("torch cannot spill on the cpu: spill must be false")
    if context["ledger"] is not None:
        raise Skip("torch does not run on core and keeps no ledger: ledger must be null")
    threads: int = context["threads"]
    return threads


@dataclass(frozen=True)
class Spec:
    """The training specification; fields are its keys (SPEC.md)."""

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


_SPEC_TYPES = {
    "seed": "i",
    "updates": "i",
    "batch": "i",
    "micro_batch": "i",
    "length": "i",
    "learning_rate": "f",
    "warmup_updates": "i",
    "decay": "s",
    "decay_floor": "f",
    "beta1": "f",
    "beta2": "f",
    "epsilon": "f",
    "weight_decay": "f",
    "clip_norm": "f",
    "rank": "i",
    "alpha": "f",
    "targets": "a",
    "evaluate_every": "i",
    "save_every": "i",
    "template": "s",
    "precision": "s",
}
_RANGES: dict[str, tuple[Callable[[Spec], bool], str]] = {
    "seed": (lambda s: 0 <= s.seed < 2**31, "0 to 2147483647"),
    "updates": (lambda s: s.updates >= 1, "at least 1"),
    "batch": (lambda s: s.batch >= 1, "at least 1"),
    "micro_batch": (lambda s: 1 <= s.micro_batch <= s.batch, "1 to batch"),
    "length": (lambda s: s.length >= 2, "at least 2"),
    "learning_rate": (lambda s: s.learning_rate > 0, "above 0"),
    "warmup_updates": (lambda s: 0 <= s.warmup_updates <= s.updates, "0 to updates"),
    "decay": (lambda s: s.decay in ("cosine", "linear"), "cosine or linear"),
    "decay_floor": (lambda s: 0 <= s.decay_floor <= 1, "0 to 1"),
    "beta1": (lambda s: 0 <= s.beta1 < 1, "0 or more and below 1"),
    "beta2": (lambda s: 0 <= s.beta2 < 1, "0 or more and below 1"),
    "epsilon": (lambda s: s.epsilon > 0, "above 0"),
    "weight_decay": (lambda s: s.weight_decay >= 0, "0 or more"),
    "clip_norm": (lambda s: s.clip_norm > 0, "above 0"),
    "rank": (lambda s: s.rank >= 1, "at least 1"),
    "alpha": (lambda s: s.alpha > 0, "above 0"),
    "targets": (
        lambda s: 0 < len(s.targets) == len(set(s.targets)) and all(name in TARGETS for name in s.targets),
        f"one or more of {', '.join(TARGETS)}, each once",
    ),
    "evaluate_every": (lambda s: s.evaluate_every >= 1, "at least 1"),
    "save_every": (lambda s: s.save_every >= 1, "at least 1"),
    "template": (lambda s: s.template in TEMPLATES, " or ".join(TEMPLATES)),
    "precision": (lambda s: s.precision == "f32", "f32"),
}


def read_spec(value: dict[str, Any]) -> Spec:
    """Return the specification, or raise `Failure` (status `spec`, where = the key)."""
    check_keys(value, _SPEC_TYPES, "spec", "the specification")
    numbers = {key: float(value[key]) for key, kind in _SPEC_TYPES.items() if kind == "f"}
    for name in value["targets"]:
        if not isinstance(name, str):
            raise Failure("spec", f"targets must hold strings, not {shown(name)}", "targets")
    spec = Spec(**{**value, **numbers, "targets": tuple(value["targets"])})
    for key, (holds, allowed) in _RANGES.items():
        if not holds(spec):
            raise Failure("spec", f"{key} must be {allowed}, not {shown(value[key])}", key)
    return spec


def learning_rate(spec: Spec, update: int) -> float:
    """η(update) before its rounding to f32, in f64; `update` counts from 1."""
    warmup, total, floor = spec.warmup_updates, spec.updates, spec.decay_floor
    if update <= warmup:
        factor = update / warmup
    elif spec.decay == "cosine":
        factor = floor + (1 - floor) * (1 + math.cos(math.pi * (update - warmup) / (total - warmup))) / 2
    else:
        factor = floor + (1 - floor) * (total - update) / (total - warmup)
    return spec.learning_rate * factor
