"""The initial LoRA adapter that every trainer starts from, made from a base model's config.json and a
specification.

Source: SPEC.md, "Adapter order and names". The one place in the harness that makes an adapter; trainers
read the files and never draw numbers of their own, so that two of them start from the same bits.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from hexapla.data.files import write_atomically
from hexapla.data.order import splitmix64

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")
TARGETS = ATTENTION + FEED_FORWARD


@dataclass(frozen=True)
class Shape:
    """The sizes of a model that decide an adapter's shapes, as config.json states them."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int

    def projection(self, target: str) -> tuple[int, int]:
        """(out, in) of one target's base weight."""
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


def read_shape(model_folder: Path) -> Shape:
    """The shape in `model_folder`/config.json. ValueError names the file and the key that is missing or
    no count.
    """
    file = model_folder / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{file}: no such file; a model folder holds config.json and safetensors") from None
    except ValueError as error:
        raise ValueError(f"{file}: not JSON: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{file}: expected an object")

    def count(key: str) -> int:
        value = config.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{file}: {key} must be a count of at least 1, found {value!r}")
        return value

    return Shape(
        layers=count("num_hidden_layers"),
        hidden=count("hidden_size"),
        intermediate=count("intermediate_size"),
        heads=count("num_attention_heads"),
        kv_heads=count("num_key_value_heads"),
        head_dim=count("head_dim"),
    )


def tensor_shapes(shape: Shape, spec: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Every adapter tensor's shape by its PEFT name, in adapter order. ValueError for an unknown target."""
    unknown = [target for target in spec["targets"] if target not in TARGETS]
    if unknown:
        raise ValueError(f"targets: {unknown[0]!r} is not one of {', '.join(TARGETS)}")
    rank = int(spec["rank"])
    shapes: dict[str, tuple[int, int]] = {}
    for layer in range(shape.layers):
        for target in TARGETS:
            if target in spec["targets"]:
                block = "self_attn" if target in ATTENTION else "mlp"
                name = f"base_model.model.model.layers.{layer}.{block}.{target}"
                rows, columns = shape.projection(target)
                shapes[f"{name}.lora_A.weight"] = (rank, columns)
                shapes[f"{name}.lora_B.weight"] = (rows, rank)
    return shapes


def initial_tensors(shape: Shape, spec: Mapping[str, Any]) -> dict[str, NDArray[np.float32]]:
    """A uniform in ±1/sqrt(in), drawn from one SplitMix64 stream in adapter order; B zero. In adapter
    order, f32.
    """
    start = (int(spec["seed"]) << 32) + (1 << 32) - 1
    drawn = 0
    tensors: dict[str, NDArray[np.float32]] = {}
    for name, size in tensor_shapes(shape, spec).items():
        if name.endswith("lora_B.weight"):
            tensors[name] = np.zeros(size, dtype=np.float32)
            continue
        numbers = splitmix64(start, drawn, size[0] * size[1])
        drawn += numbers.size
        unit = (numbers >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0
        tensors[name] = (unit / np.sqrt(np.float64(size[1]))).astype(np.float32).reshape(size)
    return tensors


def make_initial_adapter(model_folder: Path, spec: Mapping[str, Any], out_folder: Path) -> None:
    """Write adapter_model.safetensors and adapter_config.json for `spec` on the model in `model_folder`.

    The same input gives the same bytes. PEFT loads the folder. ValueError as in read_shape and tensor_shapes.
    """
    tensors = initial_tensors(read_shape(model_folder), spec)
    config = {
        "alpha_pattern": {},
        "base_model_name_or_path": "hexapla-base",
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "lora_alpha": spec["alpha"],
        "lora_dropout": 0.0,
        "modules_to_save": None,
        "peft_type": "LORA",
        "r": spec["rank"],
        "rank_pattern": {},
        "target_modules": [target for target in TARGETS if target in spec["targets"]],
        "task_type": "CAUSAL_LM",
        "use_dora": False,
        "use_rslora": False,
    }
    write_atomically(out_folder / "adapter_model.safetensors", save(tensors, metadata={"format": "pt"}))
    text = json.dumps(config, indent=2) + "\n"
    write_atomically(out_folder / "adapter_config.json", text.encode("utf-8"))
