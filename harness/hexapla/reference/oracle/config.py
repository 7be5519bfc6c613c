"""The training specification and the model's config.json, read without a default of their own.

Apart from the stages because every one of them reads these values and none may change or add one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import fields
from .failure import Failure, read_bytes
from .strict_json import Json, parse

# In adapter order: attention first, then the feed-forward part.
PROJECTIONS = {
    "q_proj": "self_attn",
    "k_proj": "self_attn",
    "v_proj": "self_attn",
    "o_proj": "self_attn",
    "gate_proj": "mlp",
    "up_proj": "mlp",
    "down_proj": "mlp",
}


def _targets(value: Json) -> str | None:
    known = (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(t, str) and t in PROJECTIONS for t in value)
    )
    distinct = isinstance(value, list) and len({str(target) for target in value}) == len(value)
    return None if known and distinct else "distinct names among " + ", ".join(PROJECTIONS)


_POSITIVE = fields.number("a number above 0", lambda value: value > 0)
_NOT_NEGATIVE = fields.number("a number of at least 0", lambda value: value >= 0)
_BETA = fields.number("a number from 0 up to but not 1", lambda value: 0 <= value < 1)

SPEC_KINDS: dict[str, fields.Kind] = {
    "seed": fields.integer(0, 2**31 - 1),
    "updates": fields.integer(1),
    "batch": fields.integer(1),
    "micro_batch": fields.integer(1),
    "length": fields.integer(2),
    "learning_rate": _POSITIVE,
    "warmup_updates": fields.integer(0),
    "decay": fields.choice("cosine", "linear"),
    "decay_floor": fields.number("a number from 0 to 1", lambda value: 0 <= value <= 1),
    "beta1": _BETA,
    "beta2": _BETA,
    "epsilon": _POSITIVE,
    "weight_decay": _NOT_NEGATIVE,
    "clip_norm": _POSITIVE,
    "rank": fields.integer(1),
    "alpha": _POSITIVE,
    "targets": _targets,
    "evaluate_every": fields.integer(1),
    "save_every": fields.integer(1),
    "template": fields.choice("qwen3", "chatml"),
    "precision": fields.choice("f32"),
}


@dataclass(frozen=True)
class Spec:
    """The specification of a run; names and units are those of SPEC.md."""

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
        """What the low-rank product is multiplied by."""
        return self.alpha / self.rank

    @staticmethod
    def read(found: Json) -> Spec:
        """Check and take over a specification; raises Failure (`spec`) that names the key."""
        keys = fields.check(found, SPEC_KINDS, "spec", "spec")
        values: dict[str, object] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()
        }
        for key in (
            "learning_rate",
            "decay_floor",
            "beta1",
            "beta2",
            "epsilon",
            "weight_decay",
            "clip_norm",
            "alpha",
        ):
            values[key] = float(values[key])  # type: ignore[arg-type]
        spec = Spec(**values)  # type: ignore[arg-type]
        for key, above in (("micro_batch", "batch"), ("warmup_updates", "updates")):
            value, limit = getattr(spec, key), getattr(spec, above)
            if value > limit:
                raise Failure("spec", f"spec: {key} is {value}, expected at most {above} ({limit})", key)
        return spec


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model, from its config.json."""

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    tie_word_embeddings: bool

    @property
    def query_norms(self) -> bool:
        """Whether queries and keys are normalised per head."""
        return self.model_type == "qwen3"


_COUNTS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
)
# What the forward pass does not have: a config that asks for one of these is of another model.
_ABSENT = {
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "use_sliding_window": (False,),
    "rope_scaling": (None,),
    "quantization": (None,),
    "quantization_config": (None,),
}


def read_json(path: Path, status: str) -> dict[str, Json]:
    """Read a file that holds one JSON object; raises Failure (`status` or `io`) that names the file."""
    try:
        found = parse(read_bytes(path))
    except ValueError as error:
        raise Failure(status, f"{path}: {error}", str(path)) from error
    if not isinstance(found, dict):
        raise Failure(status, f"{path}: expected one JSON object", str(path))
    return found


def read_model_config(folder: Path) -> ModelConfig:
    """Read `config.json` of a model folder; raises Failure (`checkpoint`) that names the key."""
    path = folder / "config.json"
    found = read_json(path, "checkpoint")
    for key, allowed in _ABSENT.items():
        if key in found and found[key] not in allowed:
            raise Failure(
                "checkpoint", f"{path}: {key} is {str(found[key])[:60]}, which the oracle cannot run", key
            )
    kinds: dict[str, fields.Kind] = {
        "model_type": fields.choice("qwen3", "llama"),
        **dict.fromkeys(_COUNTS, fields.integer(1)),
        "rms_norm_eps": _POSITIVE,
        "rope_theta": _POSITIVE,
        "tie_word_embeddings": fields.boolean,
    }
    known = {key: found[key] for key in kinds if key in found}
    if "rope_theta" not in known:
        known["rope_theta"] = _nested_theta(found, path)
    values = fields.check(known, kinds, "checkpoint", str(path))
    values["rms_norm_eps"] = float(values["rms_norm_eps"])  # type: ignore[arg-type]
    values["rope_theta"] = float(values["rope_theta"])  # type: ignore[arg-type]
    config = ModelConfig(**values)  # type: ignore[arg-type]
    if config.num_attention_heads % config.num_key_value_heads or config.head_dim % 2:
        message = "query heads must be a multiple of key heads, and head_dim even"
        raise Failure("checkpoint", f"{path}: {message}", "num_key_value_heads")
    return config


def _nested_theta(found: Mapping[str, Json], path: Path) -> Json:
    """Newer files keep the angle's base in `rope_parameters`, beside the kind of rope."""
    nested = found.get("rope_parameters")
    if not isinstance(nested, dict) or "rope_theta" not in nested:
        raise Failure("checkpoint", f"{path}: the key rope_theta is missing", "rope_theta")
    if nested.get("rope_type", "default") != "default":
        raise Failure(
            "checkpoint", f"{path}: rope_type is {nested['rope_type']}, expected default", "rope_type"
        )
    return nested["rope_theta"]


def check_adapter_config(path: Path, spec: Spec) -> None:
    """Refuse an adapter_config.json whose rank or alpha is not the spec's (`checkpoint`)."""
    found = read_json(path, "checkpoint")
    for key, expected in (("r", float(spec.rank)), ("lora_alpha", spec.alpha)):
        value = found.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != expected:
            raise Failure("checkpoint", f"{path}: {key} is {value}, the spec says {expected:g}", key)
