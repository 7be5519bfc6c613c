"""The base model: its shape from config.json, its weights from safetensors, in f32, on the cpu.

Separate because loading is a level of its own: what the stored files say is compared with what
transformers expects *before* it loads, and what it loaded is digested afterwards. Nothing is fetched
from a hub, and no value of the shape is derived or left to a default of the library.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # must stand before transformers is imported

import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import logging as transformers_logging

from .config import shown
from .failure import Failure
from .strict_json import LineError, parse_line
from .weights import FLOAT_DTYPES, check_shapes, digest, read_header

HEAD = "lm_head.weight"
EMBEDDING = "model.embed_tokens.weight"
INDEX = "model.safetensors.index.json"

_ARCHITECTURES: dict[str, tuple[Any, Any]] = {
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
}
_COUNTS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
)
# Keys that would change the arithmetic away from SPEC.md's if they were anything else.
_FIXED: dict[str, tuple[Any, ...]] = {
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "hidden_act": ("silu", None),
    "use_sliding_window": (False, None),
    "rope_scaling": (None,),
    "quantization_config": (None,),
}

transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of the model as the checkpoint stores it and as it sits in the model after load."""

    name: str
    shape: list[int]
    dtype: str
    digest: str


def read_object(path: Path, status: str = "checkpoint") -> dict[str, Any]:
    """Return the JSON object that the whole file holds."""
    try:
        value = parse_line(path.read_bytes())
    except OSError as error:
        raise Failure("io", f"cannot read the file: {error.strerror}", str(path)) from None
    except LineError as error:
        raise Failure(status, f"cannot be read: {error}", str(path)) from None
    if not isinstance(value, dict):
        raise Failure(status, f"must hold an object, not {shown(value)}", str(path))
    return value


def load_model(folder: str) -> Any:
    """Return the `PreTrainedModel` in f32, every parameter frozen and written from the files exactly once."""
    path = Path(folder)
    config = _read_config(path / "config.json")
    _, model_class = _ARCHITECTURES[config.model_type]
    stored = _stored_tensors(path)
    with torch.device("meta"):
        expected = {name: tuple(value.shape) for name, value in model_class(config).named_parameters()}
    _check_head(config, stored, path)
    shapes = {name: shape for name, (_, shape, _) in stored.items()}
    if config.tie_word_embeddings:
        shapes.pop(HEAD, None)
    check_shapes(expected, shapes, "the model", str(path))
    # Given the tensors, transformers looks for no file of its own choice (an adapter, an index, a hub).
    model, report = model_class.from_pretrained(
        None,
        config=config,
        state_dict=_read_stored(stored, shapes),
        dtype=torch.float32,
        attn_implementation="eager",
        output_loading_info=True,
    )
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        if names := sorted(report[kind]):
            message = f"transformers reports {kind} {len(names)} (first {names[0]})"
            raise Failure("checkpoint", message, str(path))
    _check_arrived(model, config)
    model.requires_grad_(False)
    model.eval()
    return model


def loaded_tensors(folder: str, model: Any) -> list[StoredTensor]:
    """Every parameter, sorted by its name's bytes; a tied head is left out."""
    stored = _stored_tensors(Path(folder))
    parameters = sorted(model.named_parameters(), key=lambda item: item[0].encode())
    return [
        StoredTensor(name, list(value.shape), stored[name][0], digest([value])) for name, value in parameters
    ]


def _read_config(path: Path) -> Any:
    content = read_object(path)

    def refuse(key: str, expected: str) -> Failure:
        found = f"not {shown(content[key])}" if key in content else "it is absent"
        return Failure("checkpoint", f"{key} must be {expected}, {found}", f"{path}: {key}")

    if content.get("model_type") not in _ARCHITECTURES:
        raise refuse("model_type", " or ".join(_ARCHITECTURES))
    for key in _COUNTS:
        if type(content.get(key)) is not int or content[key] < 1:
            raise refuse(key, "an integer of at least 1")
    if type(content.get("rms_norm_eps")) not in (float, int) or not content["rms_norm_eps"] > 0:
        raise refuse("rms_norm_eps", "a number above 0")
    if type(content.get("tie_word_embeddings")) is not bool:
        raise refuse("tie_word_embeddings", "true or false")
    if content["num_attention_heads"] % content["num_key_value_heads"]:
        raise refuse("num_key_value_heads", "a divisor of num_attention_heads")
    if content["head_dim"] % 2:
        raise refuse("head_dim", "even")
    for key, allowed in _FIXED.items():
        if content.get(key) not in allowed:
            raise refuse(key, f"{shown(allowed[0])} or absent")
    config_class, _ = _ARCHITECTURES[content["model_type"]]
    try:
        return config_class(
            **{key: content[key] for key in _COUNTS},
            rms_norm_eps=float(content["rms_norm_eps"]),
            tie_word_embeddings=content["tie_word_embeddings"],
            rope_parameters={"rope_type": "default", "rope_theta": _rope_theta(content, path)},
            hidden_act="silu",
            attention_bias=False,
            attention_dropout=0.0,
            use_cache=False,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=None,
        )
    except ValueError as error:
        message = f"transformers refuses the shape: {' '.join(str(error).split())}"
        raise Failure("checkpoint", message, str(path)) from None


def _rope_theta(content: dict[str, Any], path: Path) -> float:
    """theta stands at the top level or, as transformers 5 writes it, in `rope_parameters`."""
    parameters = content.get("rope_parameters") or {}
    if parameters.get("rope_type", "default") != "default":
        message = f"rope_type must be default, not {shown(parameters['rope_type'])}"
        raise Failure("checkpoint", message, f"{path}: rope_parameters")
    found = [source["rope_theta"] for source in (content, parameters) if "rope_theta" in source]
    usable = [theta for theta in found if type(theta) in (float, int) and theta > 0]
    if not found or usable != found or any(theta != found[0] for theta in found):
        message = f"rope_theta must be one number above 0, found {shown(found)}"
        raise Failure("checkpoint", message, f"{path}: rope_theta")
    return float(found[0])


def _stored_tensors(folder: Path) -> dict[str, tuple[str, tuple[int, ...], Path]]:
    """name → (dtype, shape, file) over `model.safetensors` or the shards of the index."""
    file = folder / "model.safetensors"
    if (folder / INDEX).exists() and not file.exists():
        stored = _stored_in_shards(folder)
    else:
        stored = {name: (*entry, file) for name, entry in read_header(file, "checkpoint").items()}
    for name, (dtype, _, file) in stored.items():
        if dtype not in FLOAT_DTYPES:
            message = (
                f"{name} is stored as {dtype}: packed or quantised weights must first become F32, F16 or BF16"
            )
            raise Failure("checkpoint", message, f"{file}: {name}")
    return stored


def _stored_in_shards(folder: Path) -> dict[str, tuple[str, tuple[int, ...], Path]]:
    index = folder / INDEX
    weight_map = read_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise Failure("checkpoint", "weight_map must be an object with names", str(index))
    stored: dict[str, tuple[str, tuple[int, ...], Path]] = {}
    for shard in sorted(set(map(str, weight_map.values()))):
        if Path(shard).name != shard:
            raise Failure("checkpoint", f"a shard must be a file name, not {shown(shard)}", str(index))
        for name, entry in read_header(folder / shard, "checkpoint").items():
            if weight_map.get(name) != shard:
                message = f"{name} stands in {shard}, the index says {shown(weight_map.get(name))}"
                raise Failure("checkpoint", message, str(index))
            stored[name] = (*entry, folder / shard)
    absent = [name for name in weight_map if name not in stored]
    if absent:
        message = f"{len(absent)} tensors of the index are in no shard (first {absent[0]})"
        raise Failure("checkpoint", message, str(index))
    return stored


def _check_head(config: Any, stored: dict[str, tuple[str, tuple[int, ...], Path]], folder: Path) -> None:
    """Tied: a stored head must equal the embedding. Untied: there must be one."""
    if not config.tie_word_embeddings:
        if HEAD not in stored:
            message = f"{HEAD} is absent, and tie_word_embeddings is false"
            raise Failure("checkpoint", message, f"{folder}: {HEAD}")
        return
    if HEAD in stored and EMBEDDING in stored:
        head, embedding = _read_stored(stored, (HEAD, EMBEDDING)).values()
        # Digests compare bits, so that a NaN equals itself.
        if head.shape != embedding.shape or digest([head.float()]) != digest([embedding.float()]):
            message = f"{HEAD} differs from {EMBEDDING}, and tie_word_embeddings is true"
            raise Failure("checkpoint", message, f"{folder}: {HEAD}")


def _read_stored(
    stored: dict[str, tuple[str, tuple[int, ...], Path]], names: Iterable[str]
) -> dict[str, torch.Tensor]:
    """The named tensors as stored; transformers widens them."""
    tensors = {}
    for name in names:
        with safe_open(stored[name][2], framework="pt") as file:
            tensors[name] = file.get_tensor(name)
    return tensors


def _check_arrived(model: Any, config: Any) -> None:
    """transformers moves and renames configuration values between versions: look where they are used."""
    layer = model.model.layers[0]
    theta = config.rope_parameters["rope_theta"]
    frequencies = 1.0 / (theta ** (torch.arange(0, config.head_dim, 2, dtype=torch.float) / config.head_dim))
    arrived = {
        "rms_norm_eps": layer.input_layernorm.variance_epsilon == config.rms_norm_eps,
        "head_dim": layer.self_attn.head_dim == config.head_dim,
        "rope_theta": torch.equal(model.model.rotary_emb.inv_freq, frequencies),
        "tie_word_embeddings": (model.lm_head.weight is model.model.embed_tokens.weight)
        == config.tie_word_embeddings,
        "attn_implementation": model.config._attn_implementation == "eager",
        "dtype": all(value.dtype == torch.float32 for value in model.parameters()),
    }
    if lost := [key for key, same in arrived.items() if not same]:
        raise Failure("internal", f"transformers did not take over {', '.join(lost)}", lost[0])
