"""Small models, adapters and tokenizers that the acceptance tests write.

Apart from crew.py because it starts nothing. Weights are the harness's seeded ones, widened to f32, so that
a test can change a value and know every bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from hexapla.data.adapter import Shape
from numpy.typing import NDArray
from safetensors.numpy import save_file

SMALL = Shape(layers=2, hidden=16, intermediate=24, heads=4, kv_heads=2, head_dim=8)
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """BF16 bits as f32 values, exact."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def write_model(
    folder: Path, shape: Shape, vocabulary: int, tensors: Mapping[str, NDArray[Any]], tied: bool = True
) -> Path:
    """config.json and model.safetensors in F32; 16-bit integers are taken as BF16 bits."""
    folder.mkdir(parents=True, exist_ok=True)
    write_config(folder, shape, vocabulary, tied)
    stored = {
        name: widened(values) if values.dtype == np.uint16 else values for name, values in tensors.items()
    }
    save_file(stored, folder / "model.safetensors")
    return folder


def write_config(folder: Path, shape: Shape, vocabulary: int, tied: bool = True) -> None:
    """A Qwen3 config.json."""
    sizes = asdict(shape)
    config = {
        "model_type": "qwen3",
        "vocab_size": vocabulary,
        "hidden_size": sizes["hidden"],
        "intermediate_size": sizes["intermediate"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "num_key_value_heads": sizes["kv_heads"],
        "head_dim": sizes["head_dim"],
        "rms_norm_eps": 1e-6,
        "rope_theta": 1e6,
        "tie_word_embeddings": tied,
        "hidden_act": "silu",
        "attention_bias": False,
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


def read_bfloat16(folder: Path) -> dict[str, NDArray[np.uint16]]:
    """A BF16 model's tensors as bits."""
    raw = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "BF16", f"{folder}: {name} is {entry['dtype']}"
        begin, end = entry["data_offsets"]
        bits = np.frombuffer(raw[8 + length + begin : 8 + length + end], "<u2")
        tensors[name] = bits.reshape(entry["shape"]).astype(np.uint16)
    return tensors
