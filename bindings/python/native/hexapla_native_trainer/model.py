"""A base model: config.json read strictly, names and shapes of its tensors, the weights on a device.
Separate from the forward pass, which only uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapla_native import Checkpoint, Tensor, digest

from hexapla_native_trainer.devices import Place
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.refusal import At, Refusal
from hexapla_native_trainer.strict_json import parse

Shapes = dict[str, tuple[int, ...]]
HEAD = "lm_head.weight"
EMBEDDING = "model.embed_tokens.weight"


@dataclass(frozen=True)
class Config:
    """A model's sizes, as config.json states them."""

    qk_norm: bool
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    epsilon: float
    theta: float
    tied: bool

    def projection(self, target: str) -> tuple[int, int]:
        """(out, in) of a target's weight."""
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (query, self.hidden),
            "k_proj": (key, self.hidden),
            "v_proj": (key, self.hidden),
            "o_proj": (self.hidden, query),
            "gate_proj": (self.intermediate, self.hidden),
            "up_proj": (self.intermediate, self.hidden),
            "down_proj": (self.hidden, self.intermediate),
        }[target]

    def shapes(self) -> Shapes:
        """Every tensor's name and shape; the head only where it is not tied."""
        shapes: Shapes = {EMBEDDING: (self.vocabulary, self.hidden), "model.norm.weight": (self.hidden,)}
        if not self.tied:
            shapes[HEAD] = (self.vocabulary, self.hidden)
        for layer in range(self.layers):
            at = f"model.layers.{layer}"
            shapes[f"{at}.input_layernorm.weight"] = (self.hidden,)
            shapes[f"{at}.post_attention_layernorm.weight"] = (self.hidden,)
            for target in ("q_proj", "k_proj", "v_proj", "o_proj"):
                shapes[f"{at}.self_attn.{target}.weight"] = self.projection(target)
            for target in ("gate_proj", "up_proj", "down_proj"):
                shapes[f"{at}.mlp.{target}.weight"] = self.projection(target)
            if self.qk_norm:
                shapes[f"{at}.self_attn.q_norm.weight"] = (self.head_dim,)
                shapes[f"{at}.self_attn.k_norm.weight"] = (self.head_dim,)
        return shapes


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object of a file. Raises Refusal `checkpoint`."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Refusal("checkpoint", f"{path}: {error.strerror}", str(path)) from None
    try:
        value = parse(text)
    except ValueError as error:
        raise Refusal("checkpoint", f"{path}: {error}", str(path)) from None
    if not isinstance(value, dict):
        raise Refusal("checkpoint", f"{path}: must hold an object", str(path))
    return value


def read_config(folder: str) -> Config:
    """config.json of a model's folder. What this trainer does not compute is refused (`checkpoint`)."""
    path = Path(folder) / "config.json"
    values = read_object(path)

    def refuse(key: str, why: str) -> Refusal:
        return Refusal("checkpoint", f"{path}: {key} {why}", str(path))

    for key in ("quantization", "quantization_config"):
        if values.get(key) is not None:
            raise refuse(key, "is given: quantized weights are not supported")
    for key in ("attention_bias", "mlp_bias", "use_sliding_window"):
        if values.get(key) not in (None, False):
            raise refuse(key, f"is {values[key]!r:.80}: only false is supported")
    if values.get("hidden_act", "silu") != "silu":
        raise refuse("hidden_act", f"is {values['hidden_act']!r:.80}: only silu is supported")
    kind = values.get("model_type")
    if kind not in ("qwen3", "llama"):
        raise refuse("model_type", f"is {kind!r:.80}: qwen3 and llama are supported")
    fields = Fields(values, "checkpoint", str(path))
    config = Config(
        qk_norm=kind == "qwen3",
        layers=fields.integer("num_hidden_layers", 1),
        hidden=fields.integer("hidden_size", 1),
        intermediate=fields.integer("intermediate_size", 1),
        heads=fields.integer("num_attention_heads", 1),
        kv_heads=fields.integer("num_key_value_heads", 1),
        head_dim=fields.integer("head_dim", 2),
        vocabulary=fields.integer("vocab_size", 1),
        epsilon=fields.number("rms_norm_eps"),
        theta=_theta(values, path),
        tied=fields.boolean("tie_word_embeddings"),
    )
    if config.heads % config.kv_heads or config.head_dim % 2:
        raise refuse("num_attention_heads", "must be a multiple of num_key_value_heads, head_dim even")
    if config.epsilon < 0 or not config.theta > 0:
        raise refuse("rms_norm_eps", "must not be negative, rope_theta above 0")
    return config


def _theta(values: Mapping[str, Any], path: Path) -> float:
    """The rotary base: at the top, or inside rope_parameters; any scaling of it is refused."""
    parameters: Any = values.get("rope_parameters") or {}
    scaling = values.get("rope_scaling")
    kinds = [
        part.get("rope_type", part.get("type", "default"))
        for part in (parameters, scaling)
        if isinstance(part, dict)
    ]
    if any(kind != "default" for kind in kinds) or not isinstance(scaling, dict | None):
        raise Refusal(
            "checkpoint", f"{path}: rope_scaling: scaled rotary embeddings are not supported", str(path)
        )
    source = values if "rope_theta" in values else parameters
    return Fields(source, "checkpoint", str(path)).number("rope_theta")


def require_names(
    found: Mapping[str, Iterable[int]], wanted: Mapping[str, tuple[int, ...]], where: str
) -> None:
    """Refuse another set of names or shapes, with counts and first names."""
    missing = sorted(wanted.keys() - found.keys())
    unexpected = sorted(found.keys() - wanted.keys())
    other = sorted(name for name in wanted.keys() & found.keys() if tuple(found[name]) != wanted[name])
    parts = []
    for word, names in (("missing", missing), ("unexpected", unexpected)):
        if names:
            parts.append(f"{len(names)} {word}, first {names[0]}")
    if other:
        name = other[0]
        shapes = f"{list(found[name])}, needed {list(wanted[name])}"
        parts.append(f"{len(other)} of another shape, first {name}: {shapes}")
    if parts:
        raise Refusal("checkpoint", f"{where}: {'; '.join(parts)}", where)


@dataclass(frozen=True)
class Stored:
    """A tensor as its file has it."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Model:
    """A base model on a device; the place that it was loaded to owns its tensors."""

    def __init__(self, config: Config, weights: dict[str, Tensor], stored: list[Stored]) -> None:
        self.config = config
        self.weights = weights
        self.stored = stored

    @property
    def head(self) -> Tensor:
        return self.weights[EMBEDDING if self.config.tied else HEAD]


def load_model(folder: str, place: Place) -> Model:
    """Config and all weights; a stored copy of a tied head must equal the embedding, and is left out."""
    config = read_config(folder)
    wanted = config.shapes()
    with At(folder), Checkpoint(folder) as checkpoint:
        entries = [Stored(name, dtype, tuple(shape)) for name, dtype, shape in checkpoint.entries()]
        copies_head = config.tied and any(each.name == HEAD for each in entries)
        if copies_head:
            wanted[HEAD] = wanted[EMBEDDING]
        require_names({each.name: each.shape for each in entries}, wanted, folder)
        stored = [each for each in entries if not (copies_head and each.name == HEAD)]
        weights = {each.name: place.read(checkpoint, each.name) for each in stored}
        if copies_head:
            with checkpoint.read(HEAD, place.context) as head:
                if digest([head]) != digest([weights[EMBEDDING]]):
                    raise Refusal(
                        "checkpoint", f"{folder}: {HEAD} differs from {EMBEDDING}, yet it is tied", folder
                    )
    return Model(config, weights, stored)
