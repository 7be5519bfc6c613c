"""The adapter: names, shapes and order of its tensors, and reading them from a file.

Apart from the model because checkpoints, digests and the optimizer all walk it in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .config import PROJECTIONS, ModelConfig, Spec
from .failure import Failure, listing
from .tensors import Float64, TensorFile, read_tensors

Adapter = dict[str, Float64]

ADAPTER_FILE = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"


def projection_shape(config: ModelConfig, projection: str) -> tuple[int, int]:
    """(out, in) of a projection's weight."""
    hidden, inner = config.hidden_size, config.intermediate_size
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    return {
        "q_proj": (queries, hidden),
        "k_proj": (keys, hidden),
        "v_proj": (keys, hidden),
        "o_proj": (hidden, queries),
        "gate_proj": (inner, hidden),
        "up_proj": (inner, hidden),
        "down_proj": (hidden, inner),
    }[projection]


def adapter_name(layer: int, projection: str, part: str) -> str:
    """The name of A or B (`part`) of one projection, PEFT's."""
    place = f"{PROJECTIONS[projection]}.{projection}"
    return f"base_model.model.model.layers.{layer}.{place}.lora_{part}.weight"


def adapter_shapes(config: ModelConfig, spec: Spec) -> dict[str, tuple[int, ...]]:
    """Name to shape of every adapter tensor, in adapter order."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(config.num_hidden_layers):
        for projection in PROJECTIONS:
            if projection in spec.targets:
                rows, columns = projection_shape(config, projection)
                shapes[adapter_name(layer, projection, "A")] = (spec.rank, columns)
                shapes[adapter_name(layer, projection, "B")] = (rows, spec.rank)
    return shapes


def read_adapter(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> Adapter:
    """Read `adapter_model.safetensors`; other names or shapes are a Failure (`checkpoint`)."""
    return take_adapter(read_tensors(folder / ADAPTER_FILE), shapes)


def take_adapter(file: TensorFile, shapes: Mapping[str, tuple[int, ...]]) -> Adapter:
    """The file's tensors in the order of `shapes`, widened from F32; else a Failure (`checkpoint`)."""
    check_names(file, shapes)
    for name in shapes:
        if file.tensors[name].dtype != "F32":
            message = f"{file.path}: {name} is stored as {file.tensors[name].dtype}, expected F32"
            raise Failure("checkpoint", message, name)
    return {name: file.tensors[name].widen().astype(np.float64) for name in shapes}


def check_names(file: TensorFile, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse missing and unexpected names and other shapes, with counts and first names (`checkpoint`)."""
    missing = [name for name in shapes if name not in file.tensors]
    unexpected = [name for name in file.tensors if name not in shapes]
    if missing or unexpected:
        message = f"{file.path}: missing {listing(missing)}, unexpected {listing(unexpected)}"
        raise Failure("checkpoint", message, (missing + unexpected)[0])
    other = [name for name, shape in shapes.items() if file.tensors[name].shape != shape]
    if other:
        first = other[0]
        found, expected = list(file.tensors[first].shape), list(shapes[first])
        message = f"{file.path}: {len(other)} of another shape: {first} is {found}, expected {expected}"
        raise Failure("checkpoint", message, first)
