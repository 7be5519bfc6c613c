"""The model: config.json, the names and shapes of its weights, and loading them.

Separate from the forward pass: here nothing is computed. Every shape comes from config.json; head_dim is
read, never derived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexapla_core.safe import Checkpoint, CheckpointEntry, Context, Tensor
from hexapla_core.trainer.failure import Failure, located
from hexapla_core.trainer.strict_json import JsonError, parse_line

HEAD, EMBEDDING, NORM = "lm_head.weight", "model.embed_tokens.weight", "model.norm.weight"
BLOCK_OF_TARGET = {
    "q_proj": "self_attn",
    "k_proj": "self_attn",
    "v_proj": "self_attn",
    "o_proj": "self_attn",
    "gate_proj": "mlp",
    "up_proj": "mlp",
    "down_proj": "mlp",
}
_NAMES_SHOWN = 3


@dataclass(frozen=True)
class Config:
    """The model's sizes."""

    vocabulary: int
    width: int
    inner_width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    epsilon: float
    theta: float
    tied: bool
    head_norms: bool

    def target_shape(self, target: str) -> tuple[int, int]:
        """(out, in) of a projection."""
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (query, self.width),
            "k_proj": (key, self.width),
            "v_proj": (key, self.width),
            "o_proj": (self.width, query),
            "gate_proj": (self.inner_width, self.width),
            "up_proj": (self.inner_width, self.width),
            "down_proj": (self.width, self.inner_width),
        }[target]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every weight's name and shape; the head only when it is not tied."""
        shapes: dict[str, tuple[int, ...]] = {EMBEDDING: (self.vocabulary, self.width)}
        for layer in range(self.layers):
            prefix = f"model.layers.{layer}."
            for norm in ("input_layernorm", "post_attention_layernorm"):
                shapes[f"{prefix}{norm}.weight"] = (self.width,)
            for target, block in BLOCK_OF_TARGET.items():
                shapes[f"{prefix}{block}.{target}.weight"] = self.target_shape(target)
            for norm in ("q_norm", "k_norm") if self.head_norms else ():
                shapes[f"{prefix}self_attn.{norm}.weight"] = (self.head_dim,)
        shapes[NORM] = (self.width,)
        if not self.tied:
            shapes[HEAD] = (self.vocabulary, self.width)
        return shapes


class Model:
    """The frozen weights on one context, by name. `head` is the embedding when tied."""

    def __init__(
        self, config: Config, weights: dict[str, Tensor], stored: Mapping[str, CheckpointEntry]
    ) -> None:
        self.config, self.weights, self.stored = config, weights, stored
        self.embedding, self.norm = weights[EMBEDDING], weights[NORM]
        self.head = self.embedding if config.tied else weights[HEAD]

    def weight(self, layer: int, name: str) -> Tensor:
        """A weight of a layer, as in `self_attn.q_proj`."""
        return self.weights[f"model.layers.{layer}.{name}.weight"]

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every weight."""
        for tensor in self.weights.values():
            tensor.close()


def read_json_file(path: Path, status: str) -> dict[str, Any]:
    """An object in a file of any number of lines. Raises Failure."""
    with located(str(path)):
        content = path.read_bytes()
    try:
        value = parse_line(content.replace(b"\n", b" "))
    except JsonError as error:
        raise Failure(status, str(error), str(path)) from None
    if not isinstance(value, dict):
        raise Failure(status, "is not an object", str(path))
    return value


def load_model(context: Context, folder: str) -> Model:
    """Read all weights, widened to f32. Raises Failure (`checkpoint` for names, shapes and config)."""
    config = read_config(Path(folder) / "config.json")
    with located(folder), ExitStack() as on_failure:
        with Checkpoint(folder) as checkpoint:
            entries = {entry.name: entry for entry in checkpoint.entries()}
            expected = config.shapes()
            stored_head = config.tied and HEAD in entries
            if stored_head:
                expected[HEAD] = expected[EMBEDDING]
            check_shapes(expected, {name: entry.shape for name, entry in entries.items()}, folder)
            weights = {}
            for name, entry in entries.items():
                weights[name] = on_failure.enter_context(checkpoint.read(entry.index, context))
        if stored_head:
            with weights.pop(HEAD) as head:
                if head.digest() != weights[EMBEDDING].digest():
                    raise Failure("checkpoint", "config.json ties the head, the stored one differs", HEAD)
        on_failure.pop_all()
    return Model(config, weights, entries)


def check_shapes(
    expected: Mapping[str, Sequence[int]], found: Mapping[str, Sequence[int]], where: str
) -> None:
    """Refuse another set of names or shapes, with counts and first names."""
    missing = sorted(expected.keys() - found.keys())
    unexpected = sorted(found.keys() - expected.keys())
    other = [
        f"{name} {list(found[name])}, must be {list(shape)}"
        for name, shape in sorted(expected.items())
        if name in found and tuple(found[name]) != tuple(shape)
    ]
    lists = (("missing", missing), ("unexpected", unexpected), ("other shape", other))
    texts = [
        f"{word} {len(names)} ({'; '.join(names[:_NAMES_SHOWN])}{'; …' if len(names) > _NAMES_SHOWN else ''})"
        for word, names in lists
        if names
    ]
    if texts:
        raise Failure("checkpoint", ", ".join(texts), where)


def read_config(path: Path) -> Config:
    """The sizes in config.json; what this trainer does not do is refused by name. Raises Failure."""
    values = read_json_file(path, "checkpoint")
    config = _ConfigFile(values, str(path))
    kind = values.get("model_type")
    if kind not in ("qwen3", "llama"):
        config.refuse("model_type", f"is {kind!r}, must be qwen3 or llama")
    for key in ("quantization", "quantization_config"):
        if values.get(key) is not None:
            config.refuse(key, "quantized models are not supported")
    for key in ("attention_bias", "mlp_bias"):
        if values.get(key, False) is not False:
            config.refuse(key, f"is {values[key]!r}, biases are not supported")
    if values.get("hidden_act", "silu") != "silu":
        config.refuse("hidden_act", f"is {values['hidden_act']!r}, must be silu")
    if values.get("use_sliding_window", False) is not False:
        config.refuse("use_sliding_window", "sliding windows are not supported")
    heads, kv_heads = config.size("num_attention_heads"), config.size("num_key_value_heads")
    if heads % kv_heads:
        config.refuse("num_key_value_heads", f"is {kv_heads}, must divide {heads} heads")
    head_dim = config.size("head_dim")
    if head_dim % 2:
        config.refuse("head_dim", f"is {head_dim}, must be even")
    return Config(
        vocabulary=config.size("vocab_size"),
        width=config.size("hidden_size"),
        inner_width=config.size("intermediate_size"),
        layers=config.size("num_hidden_layers"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        epsilon=config.real("rms_norm_eps", values.get("rms_norm_eps")),
        theta=config.theta(),
        tied=config.flag("tie_word_embeddings"),
        head_norms=kind == "qwen3",
    )


class _ConfigFile:
    """config.json with refusals that name the key."""

    def __init__(self, values: dict[str, Any], path: str) -> None:
        self._values, self._path = values, path

    def refuse(self, key: str, text: str) -> None:
        raise Failure("checkpoint", f"{key}: {text}", self._path)

    def size(self, key: str) -> int:
        value = self._values.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
            raise Failure("checkpoint", f"{key}: is {value!r}, must be a whole number from 1", self._path)
        return value

    def real(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise Failure("checkpoint", f"{key}: is {value!r}, must be a number above 0", self._path)
        return float(value)

    def flag(self, key: str) -> bool:
        value = self._values.get(key)
        if not isinstance(value, bool):
            raise Failure("checkpoint", f"{key}: is {value!r}, must be true or false", self._path)
        return value

    def theta(self) -> float:
        """rope_theta at the top, or in rope_parameters; any scaling is refused."""
        for key in ("rope_scaling", "rope_parameters"):
            values = self._values.get(key)
            if values is None:
                continue
            if not isinstance(values, dict):
                self.refuse(key, f"is {values!r:.60}, must be an object")
            kind = values.get("rope_type", values.get("type", "default"))
            if kind != "default" or not values.keys() <= {"rope_type", "type", "rope_theta"}:
                self.refuse(key, f"is {values!r:.60}, scaling is not supported")
        parameters = self._values.get("rope_parameters") or {}
        return self.real("rope_theta", self._values.get("rope_theta", parameters.get("rope_theta")))
