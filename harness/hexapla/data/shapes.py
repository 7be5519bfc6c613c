"""A base model of the embedded shape for a foreign tokenizer: seeded random weights at its vocabulary.

`--tokenizer DIR` without `--model` has no weights to train on. What such a run compares is arithmetic and
text, so the weights need a sensible scale and the same bits everywhere, and no more: cross-entropy begins
near ln(vocabulary).
"""

import json
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import TensorSpec, serialize

from hexapla.data.adapter import ATTENTION, TARGETS, Shape, read_shape
from hexapla.data.files import new_folder, sha256_of, write_atomically
from hexapla.data.order import splitmix64

FORMAT = 1  # part of the cache's key; raised when the same tokenizer would give other weights
SEED = 1
EMBEDDING_DEVIATION = 0.02
PROJECTION_GAIN = 0.5  # a projection's deviation is this by sqrt(in), so that no layer blows up
_EMBEDDED_MODEL = Path(__file__).parent / "embedded" / "model"


def resolve_model(tokenizer: Path, cache: Path) -> Path:
    """The model folder for `tokenizer`/tokenizer.json, made in `cache` on first use.

    ValueError names the file if its vocabulary cannot be read.
    """
    file = tokenizer / "tokenizer.json"
    folder = cache / f"shape-{FORMAT}-{sha256_of(file)[:16]}"
    if not folder.is_dir():
        with new_folder(folder) as partial:
            make_model(file, partial)
    return folder


def make_model(tokenizer_file: Path, out: Path) -> None:
    """Write config.json and model.safetensors (BF16, tied head) to `out`."""
    vocabulary, added = read_vocabulary(tokenizer_file)
    config = json.loads((_EMBEDDED_MODEL / "config.json").read_text(encoding="utf-8"))
    config["vocab_size"] = vocabulary
    config["bos_token_id"] = added.get("<|endoftext|>")
    config["eos_token_id"] = added.get("<|im_end|>")
    write_atomically(out / "config.json", (json.dumps(config, indent=2) + "\n").encode("utf-8"))
    tensors = random_weights(read_shape(out), vocabulary)
    specs = {
        name: TensorSpec(
            dtype="bfloat16", shape=list(bits.shape), data_ptr=bits.ctypes.data, data_len=bits.nbytes
        )
        for name, bits in tensors.items()
    }
    write_atomically(out / "model.safetensors", bytes(serialize(specs, metadata={"format": "pt"})))


def read_vocabulary(tokenizer_file: Path) -> tuple[int, dict[str, int]]:
    """One more than the highest id of a tokenizer.json, and its added tokens' ids by text."""
    try:
        description: Any = json.loads(tokenizer_file.read_text(encoding="utf-8"))
        added = {token["content"]: int(token["id"]) for token in description["added_tokens"]}
        highest = max([*description["model"]["vocab"].values(), *added.values()])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{tokenizer_file}: not a tokenizer.json with model.vocab and added_tokens"
        ) from None
    return int(highest) + 1, added


def random_weights(shape: Shape, vocabulary: int) -> dict[str, NDArray[np.uint16]]:
    """Every stored tensor's BF16 bits under its Hugging Face name; gains are 1, the rest one SplitMix64
    stream.
    """
    drawn = 0

    def uniform(rows: int, columns: int, deviation: float) -> NDArray[np.uint16]:
        nonlocal drawn
        numbers = splitmix64(SEED << 32, drawn, rows * columns)
        drawn += rows * columns
        unit = (numbers >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0
        return to_bfloat16((unit * (sqrt(3.0) * deviation)).astype(np.float32).reshape(rows, columns))

    def gain(size: int) -> NDArray[np.uint16]:
        return to_bfloat16(np.ones(size, dtype=np.float32))

    tensors = {"model.embed_tokens.weight": uniform(vocabulary, shape.hidden, EMBEDDING_DEVIATION)}
    for layer in range(shape.layers):
        prefix = f"model.layers.{layer}"
        tensors[f"{prefix}.input_layernorm.weight"] = gain(shape.hidden)
        tensors[f"{prefix}.post_attention_layernorm.weight"] = gain(shape.hidden)
        tensors[f"{prefix}.self_attn.q_norm.weight"] = gain(shape.head_dim)
        tensors[f"{prefix}.self_attn.k_norm.weight"] = gain(shape.head_dim)
        for target in TARGETS:
            rows, columns = shape.projection(target)
            block = "self_attn" if target in ATTENTION else "mlp"
            weight = uniform(rows, columns, PROJECTION_GAIN / sqrt(columns))
            tensors[f"{prefix}.{block}.{target}.weight"] = weight
    tensors["model.norm.weight"] = gain(shape.hidden)
    return tensors


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """BF16 bits of finite f32 values, to nearest, ties to even (case H3)."""
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    rounded = bits + np.uint64(0x7FFF) + ((bits >> np.uint64(16)) & np.uint64(1))
    return (rounded >> np.uint64(16)).astype(np.uint16)
