"""Drives the torch trainer as a process, and makes the small model, tokenizer and adapter it trains.

Separate because every test of the trainer goes through its pipes, as the harness does. It holds no
check of its own and imports nothing from the trainer.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

CONTEXT = {"device": "cpu:0", "threads": 1, "memory_limit": 0, "spill": False, "ledger": None}
DATA = Path(os.environ.get("HEXAPLA_DATA", Path(__file__).parents[3] / "shared" / "data"))
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
CONFIG = {
    "model_type": "qwen3",
    "vocab_size": 272,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": True,
}
SPEC = {
    "seed": 1,
    "updates": 6,
    "batch": 4,
    "micro_batch": 2,
    "length": 64,
    "learning_rate": 1e-2,
    "warmup_updates": 2,
    "decay": "cosine",
    "decay_floor": 0.1,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-8,
    "weight_decay": 0.01,
    "clip_norm": 1.0,
    "rank": 2,
    "alpha": 4,
    "targets": list(TARGETS),
    "evaluate_every": 2,
    "save_every": 3,
    "template": "qwen3",
    "precision": "f32",
}
ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>"]


class Trainer:
    """A running trainer: `ask` sends one request and returns its events."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hexapla.reference.torch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self._count = 0

    def ask(self, request: str, **values: Any) -> list[dict[str, Any]]:
        """Send a request (with a context where the protocol has one) and return all its events."""
        self._count += 1
        if request in ("operators", "load", "evaluate", "train", "probe"):
            values = {"context": CONTEXT, **values}
        line = {"protocol": 1, "id": f"r{self._count}", "request": request, **values}
        return self.send(json.dumps(line).encode() + b"\n")

    def send(self, line: bytes) -> list[dict[str, Any]]:
        """Send raw bytes and read to the event that ends a request."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return list(self.events())

    def events(self) -> Iterator[dict[str, Any]]:
        """The events up to the one that ends a request."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = json.loads(line)
            yield event
            if event["event"] in ("done", "skipped", "error", "bye"):
                return

    def close(self) -> int:
        """Close stdin, wait for the process and return its exit status."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(timeout=60)


def make_tokenizer(folder: Path) -> Path:
    """A byte-level tokenizer without merges: 256 ids for bytes, then the added tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(ADDED)
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def model_tensors(config: dict[str, Any], seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights with the names and shapes of a Qwen3 or Llama checkpoint, f32, head tied."""
    random = np.random.default_rng(seed)
    hidden, inner, size = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        stem = f"model.layers.{layer}"
        shapes |= {
            f"{stem}.input_layernorm.weight": (hidden,),
            f"{stem}.post_attention_layernorm.weight": (hidden,),
            f"{stem}.self_attn.q_proj.weight": (queries, hidden),
            f"{stem}.self_attn.k_proj.weight": (keys, hidden),
            f"{stem}.self_attn.v_proj.weight": (keys, hidden),
            f"{stem}.self_attn.o_proj.weight": (hidden, queries),
            f"{stem}.mlp.gate_proj.weight": (inner, hidden),
            f"{stem}.mlp.up_proj.weight": (inner, hidden),
            f"{stem}.mlp.down_proj.weight": (hidden, inner),
        }
        if config["model_type"] == "qwen3":
            shapes |= {f"{stem}.self_attn.{name}.weight": (size,) for name in ("q_norm", "k_norm")}
    shapes["model.norm.weight"] = (hidden,)
    return {
        name: (random.normal(size=shape) * (0.3 if len(shape) == 2 else 0.1) + (len(shape) == 1)).astype("f4")
        for name, shape in shapes.items()
    }


def make_model(folder: Path, tensors: dict[str, np.ndarray], **changes: Any) -> Path:
    """Write config.json (CONFIG with `changes`; None drops a key) and model.safetensors."""
    folder.mkdir(parents=True)
    config = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors")
    return folder


def adapter_tensors(
    spec: dict[str, Any], config: dict[str, Any], zero_b: bool = True
) -> dict[str, np.ndarray]:
    """A in ±1/sqrt(in), B zero (or not), by the specification's names."""
    random = np.random.default_rng(1)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    sizes = dict(
        zip(TARGETS, [(hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden)], strict=False)
    ) | {"gate_proj": (hidden, inner), "up_proj": (hidden, inner), "down_proj": (inner, hidden)}
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        for target in TARGETS:
            block = "mlp" if target in TARGETS[4:] else "self_attn"
            stem = f"base_model.model.model.layers.{layer}.{block}.{target}"
            into, out = sizes[target]
            a = random.uniform(-1, 1, (spec["rank"], into)) / into**0.5
            b = random.normal(size=(out, spec["rank"])) * (0 if zero_b else 0.1)
            tensors |= {f"{stem}.lora_A.weight": a.astype("f4"), f"{stem}.lora_B.weight": b.astype("f4")}
    return tensors


def make_adapter(folder: Path, tensors: dict[str, np.ndarray], spec: dict[str, Any]) -> Path:
    """Write adapter_model.safetensors and adapter_config.json."""
    folder.mkdir(parents=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": spec["rank"], "lora_alpha": spec["alpha"], "target_modules": TARGETS}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def write_records(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write a JSON Lines file."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def f64_of(bits: str) -> float:
    """The number behind an `X_bits` value."""
    value: float = struct.unpack("<d", int(bits, 16).to_bytes(8, "little"))[0]
    return value


class Workplace:
    """Everything a `train` request needs, in one temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tokenizer = make_tokenizer(root / "tokenizer")
        self.model = make_model(root / "model", model_tensors(CONFIG))
        self.adapter = make_adapter(root / "adapter", adapter_tensors(SPEC, CONFIG), SPEC)
        rows = [{"id": f"t{i}", "question": f"q {i}", "answer": f"a{i * i}" * (1 + i % 3)} for i in range(10)]
        self.train = write_records(root / "train.jsonl", rows)
        held = [{"id": f"h{i}", "question": f"what {i}", "answer": "yes no"[: 2 + i]} for i in range(3)]
        self.heldout = write_records(root / "heldout.jsonl", held)

    def request(self, output: str, **changes: Any) -> dict[str, Any]:
        """The keys of a `train` request; `spec` in `changes` is laid over SPEC."""
        spec = {**SPEC, **changes.pop("spec", {})}
        paths = {
            name: str(getattr(self, name)) for name in ("tokenizer", "model", "adapter", "train", "heldout")
        }
        rest = {"resume_from": None, "stop_after": None, "schedule": "pinned", "release": "explicit"}
        output = str(self.root / output)
        fixed = {"spec": spec, "spec_digest": "d" * 64, "output": output}
        return {**fixed, **paths, **rest, **changes}
