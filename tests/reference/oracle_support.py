"""Drives the oracle's real process and makes small inputs for it.

Apart from the tests so that each of them reads as one question. It imports nothing of the oracle: files are
written with the `safetensors` package and events read as plain JSON, so that a fault in the oracle's own
reader shows.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

SHARED = Path(os.environ.get("HEXAPLA_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
CONTEXT = {"device": "cpu:0", "threads": 1, "memory_limit": 0, "spill": False, "ledger": None}
SPEC: dict[str, Any] = {
    "seed": 1,
    "updates": 6,
    "batch": 4,
    "micro_batch": 2,
    "length": 64,
    "learning_rate": 2e-3,
    "warmup_updates": 1,
    "decay": "cosine",
    "decay_floor": 0.1,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-8,
    "weight_decay": 0.01,
    "clip_norm": 1.0,
    "rank": 2,
    "alpha": 4,
    "targets": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "evaluate_every": 2,
    "save_every": 3,
    "template": "qwen3",
    "precision": "f32",
}
CONFIG: dict[str, Any] = {
    "model_type": "qwen3",
    "vocab_size": 272,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
    "attention_bias": False,
}
ADDED = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
COMMAND = [sys.executable, "-m", "hexapla.reference.oracle"]
ENDS = ("done", "skipped", "error", "bye")

Event = dict[str, Any]


def shared(*parts: str) -> Path:
    """A folder of the shared data; the test is skipped, naming it, where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is absent; set HEXAPLA_DATA")
    return path


def request(name: str, request_id: str = "r", **keys: Any) -> bytes:
    """One request line."""
    return json.dumps({"protocol": 1, "id": request_id, "request": name, **keys}).encode() + b"\n"


def speak(*lines: bytes, bye: bool = True) -> tuple[list[Event], int]:
    """Give the oracle these lines one by one, each after the last one's end; its events and exit status.

    One by one, because the end of stdin stops a run.
    """
    events: list[Event] = []
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in [*lines, request("bye", "bye")] if bye else lines:
            process.stdin.write(line)
            process.stdin.flush()
            while True:
                answer = process.stdout.readline()
                if not answer:
                    break
                events.append(json.loads(answer))
                if events[-1]["event"] in ENDS:
                    break
        process.stdin.close()
        rest = process.stdout.read()
        events += [json.loads(line) for line in rest.splitlines()]
        status = process.wait(timeout=60)
    return events, status


def ask(name: str, **keys: Any) -> list[Event]:
    """The events of a single request to a process that all tests share, as a trainer must stay alive."""
    process = _shared_process()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(request(name, **keys))
    process.stdin.flush()
    events: list[Event] = []
    while not events or events[-1]["event"] not in ENDS:
        events.append(json.loads(process.stdout.readline()))
    return events


@functools.cache
def _shared_process() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.communicate)
    return process


def of_kind(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["event"] == kind]


def without_time(events: list[Event]) -> list[Event]:
    """The events less what two equal runs may differ in."""
    return [
        {key: value for key, value in event.items() if key not in ("milliseconds", "path")}
        for event in events
    ]


def operators(
    folder: Path, cases: dict[str, tuple[str, dict[str, Any], dict[str, Any], list[str]]]
) -> tuple[list[Event], dict[str, np.ndarray]]:
    """Run cases {name: (op, attributes, inputs in order, gradients)}; `incoming` is no input."""
    tensors, listed = {}, []
    for name, (op, attributes, inputs, gradients) in cases.items():
        tensors.update({f"{name}.{key}": np.asarray(value, np.float32) for key, value in inputs.items()})
        names = [key for key in inputs if key != "incoming"]
        listed.append(
            {"case": name, "op": op, "attributes": attributes, "inputs": names, "gradients": gradients}
        )
    file, output = folder / "cases.safetensors", folder / "results.safetensors"
    save_file(tensors, file)
    events = ask("operators", cases=listed, file=str(file), output=str(output), context=CONTEXT)
    return events, load_file(output) if output.exists() else {}


def write_tokenizer(folder: Path) -> Path:
    """A byte-level tokenizer without merges: ids 0 to 255, then the added tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({piece: index for index, piece in enumerate(alphabet)}, []))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.add_special_tokens(list(ADDED))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def parameter_shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    hidden, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        names = {
            "input_layernorm": (hidden,),
            "post_attention_layernorm": (hidden,),
            "self_attn.q_proj": (queries, hidden),
            "self_attn.k_proj": (keys, hidden),
            "self_attn.v_proj": (keys, hidden),
            "self_attn.o_proj": (hidden, queries),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }
        if config["model_type"] == "qwen3":
            names |= {"self_attn.q_norm": (head,), "self_attn.k_norm": (head,)}
        shapes |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in names.items()}
    shapes["model.norm.weight"] = (hidden,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return shapes


def write_model(folder: Path, **changes: Any) -> Path:
    """A random model whose gains are not 1, so that a forgotten gain shows."""
    folder.mkdir(parents=True, exist_ok=True)
    config = CONFIG | changes
    random = np.random.default_rng(7)
    tensors = {}
    for name, shape in parameter_shapes(config).items():
        values = 1 + 0.2 * random.standard_normal(shape) if len(shape) == 1 else random.normal(0, 0.3, shape)
        tensors[name] = values.astype(np.float32)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def write_adapter(folder: Path, **changes: Any) -> Path:
    """An adapter for CONFIG and SPEC, with both `changes` applied to whichever knows the key."""
    folder.mkdir(parents=True, exist_ok=True)
    spec, config = SPEC | changes, CONFIG | changes
    random = np.random.default_rng(11)
    tensors = {}
    for name, shape in parameter_shapes(config).items():
        if name.split(".")[-2] in spec["targets"]:
            stem = "base_model.model." + name.removesuffix("weight")
            tensors[stem + "lora_A.weight"] = random.uniform(-0.2, 0.2, (spec["rank"], shape[1])).astype("f4")
            tensors[stem + "lora_B.weight"] = np.zeros((shape[0], spec["rank"]), "f4")
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": spec["rank"], "lora_alpha": spec["alpha"]}))
    return folder


def write_records(path: Path, count: int) -> Path:
    """Records of different lengths."""
    lines = []
    for index in range(count):
        record = {
            "id": f"{path.stem}-{index}",
            "question": "q" * (index % 5 + 1),
            "answer": f"a{index}" * (index % 3 + 1),
        }
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_run(folder: Path, **changes: Any) -> dict[str, Any]:
    """Everything a `train` request names, and the request's keys; `changes` go to spec and model."""
    spec = SPEC | {key: value for key, value in changes.items() if key in SPEC}
    config = {key: value for key, value in changes.items() if key in CONFIG}
    return {
        "spec": spec,
        "spec_digest": "d" * 64,
        "model": str(write_model(folder / "model", **config)),
        "tokenizer": str(write_tokenizer(folder / "tokenizer")),
        "train": str(write_records(folder / "train.jsonl", 10)),
        "heldout": str(write_records(folder / "heldout.jsonl", 5)),
        "adapter": str(write_adapter(folder / "adapter", **changes)),
        "output": str(folder / "output"),
        "resume_from": None,
        "stop_after": None,
        "schedule": "pinned",
        "release": "explicit",
        "context": CONTEXT,
    }
