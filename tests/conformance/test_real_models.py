"""The checkpoint of another project through every trainer: its published arg-maxes, shards, packed weights.

`tiny_qwen3_mlxd` is BF16 with an untied head. Its row of ids cannot be rendered (every rendering begins its
turns with one and the same id), so the teacher-forced pass is put together from `operators` requests, which
every trainer answers with its own arithmetic; the trainers' whole forward pass on these weights is held
together by `evaluate`.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crew import IMPLEMENTATIONS, Crew, Place, every_implementation, shared, write_records
from hexapla.data.adapter import make_initial_adapter
from hexapla.protocol import TensorInfo
from hexapla.spec import load_spec
from models import EMBEDDING, HEAD, read_bfloat16, widened
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

NAME = "tiny_qwen3_mlxd"
ROW = [1, 2, 76, 112, 63, 76, 195, 184, 121, 189]
ARG_MAXES = [76, 112, 63, 76, 112, 184, 121, 189]
ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
RECORD_BOUND = 2e-6  # of max(NLL, labels), as for untrained records
Array = NDArray[Any]


@pytest.fixture(scope="module")
def model() -> Path:
    return shared("models", NAME)


class Forward:
    """Qwen3's forward pass, op by op, on one implementation."""

    def __init__(self, crew: Crew, name: str, model: Path, folder: Path) -> None:
        self._crew, self._name, self._folder = crew, name, folder
        self._config = json.loads((model / "config.json").read_text("utf-8"))
        self._weights = {key: widened(bits) for key, bits in read_bfloat16(model).items()}

    def logits(self, ids: list[int]) -> Array:
        """Logits behind each of the ids: [ids, vocab]."""
        x = self._op("embedding", {"ids": ids}, table=self._weights[EMBEDDING])
        for layer in range(self._config["num_hidden_layers"]):
            stem = f"model.layers.{layer}."
            x = self._op("add", a=x, b=self._attend(stem, self._norm(x, f"{stem}input_layernorm")))
            h = self._norm(x, f"{stem}post_attention_layernorm")
            gate, up = self._linear(h, f"{stem}mlp.gate_proj"), self._linear(h, f"{stem}mlp.up_proj")
            x = self._op("add", a=x, b=self._linear(self._op("swiglu", g=gate, u=up), f"{stem}mlp.down_proj"))
        return self._op("linear", x=self._norm(x, "model.norm"), w=self._weights[HEAD])

    def _attend(self, stem: str, h: Array) -> Array:
        config, rows = self._config, len(h)
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        positions = {"positions": list(range(rows)), "theta": config["rope_theta"]}
        parts = {}
        for key, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
            flat = self._linear(h, f"{stem}self_attn.{key}_proj")
            parts[key] = flat.reshape(rows, count, config["head_dim"])
        for key in ("q", "k"):
            parts[key] = self._op("rope", positions, x=self._norm(parts[key], f"{stem}self_attn.{key}_norm"))
        attributes = {"starts": [0, rows], "heads": heads, "kv_heads": kv_heads, "causal": True}
        mixed = self._op("attention", attributes, **parts).reshape(rows, -1)
        return self._linear(mixed, f"{stem}self_attn.o_proj")

    def _linear(self, x: Array, name: str) -> Array:
        return self._op("linear", x=x, w=self._weights[f"{name}.weight"])

    def _norm(self, x: Array, name: str) -> Array:
        epsilon = {"epsilon": self._config["rms_norm_eps"]}
        return self._op("rms_norm", epsilon, x=x, gain=self._weights[f"{name}.weight"])

    def _op(self, op: str, attributes: dict[str, Any] | None = None, **inputs: Array) -> Array:
        case = {"case": "c", "op": op, "attributes": attributes or {}, "inputs": [*inputs], "gradients": []}
        file, output = self._folder / "in.safetensors", self._folder / "out.safetensors"
        save_file({f"c.{key}": np.ascontiguousarray(each, "<f4") for key, each in inputs.items()}, file)
        keys = {"file": str(file), "output": str(output)}
        self._crew.ask(self._name, "operators", context=None, cases=[case], **keys)
        return load_file(output)["c.output"]


@every_implementation
def test_published_arg_maxes(crew: Crew, name: str, model: Path, tmp_path: Path) -> None:
    logits = Forward(crew, name, model, tmp_path).logits(ROW)
    assert logits.shape == (len(ROW), 256) and np.isfinite(logits).all()
    assert logits[1:9].argmax(axis=-1).tolist() == ARG_MAXES


def write_byte_tokenizer(folder: Path) -> Path:
    """Bytes as ids 0 to 255, then the template's tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({piece: index for index, piece in enumerate(alphabet)}, []))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.add_special_tokens(ADDED)
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def with_rows_for_the_template(model: Path, folder: Path) -> Path:
    """The model with five more rows in embedding and head, which its 256 ids have no room for."""
    folder.mkdir()
    config = json.loads((model / "config.json").read_text("utf-8"))
    config["vocab_size"] += len(ADDED)
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    tensors = {key: widened(bits) for key, bits in read_bfloat16(model).items()}
    rng = np.random.default_rng(3)
    for key in (EMBEDDING, HEAD):
        more = rng.standard_normal((len(ADDED), tensors[key].shape[1])) * tensors[key].std()
        tensors[key] = np.concatenate([tensors[key], more.astype(np.float32)])
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_whole_forward_pass_on_real_weights(crew: Crew, model: Path, tmp_path: Path) -> None:
    """Every record's NLL in every implementation, against the oracle's float64."""
    spec = load_spec("micro")
    model = with_rows_for_the_template(model, tmp_path / "model")
    make_initial_adapter(model, spec.values, tmp_path / "adapter")
    texts = ["Is it?", "Two signs, one cause.", "A) yes B) no C) both D) neither", "0.5 mg/kg"]
    rows = [{"question": text, "answer": text[::-1]} for text in texts]
    records = write_records(tmp_path / "records.jsonl", *rows)
    tokenizer = write_byte_tokenizer(tmp_path / "tokenizer")
    place = Place(spec, model, tokenizer, records, records, tmp_path / "adapter").with_spec(length=256)
    right = crew.evaluate("oracle", place, None)
    labels = [len(text) + 1 for text in texts]
    assert right.labels == sum(labels)
    for name in IMPLEMENTATIONS:
        for adapter in (None, place.adapter):
            seen = crew.evaluate(name, place, adapter)
            for nll, truth, count in zip(seen.record_nll, right.record_nll, labels, strict=True):
                assert abs(nll - truth) <= RECORD_BOUND * max(truth, count), (name, adapter)


def tensors_of(crew: Crew, name: str, model: Path) -> list[tuple[str, list[int], str, str]]:
    answer = crew.ask(name, "load", context=None, model=str(model))
    infos = [event for event in answer.events if isinstance(event, TensorInfo)]
    return [(info.name, info.shape, info.dtype, info.digest) for info in infos]


def split(model: Path, folder: Path) -> Path:
    """The model in two shards with an index, every second tensor in each, bytes unchanged."""
    folder.mkdir()
    shutil.copy(model / "config.json", folder)
    raw = (model / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    weight_map = {}
    for number in (0, 1):
        file, own, data = f"model-{number + 1:05d}-of-00002.safetensors", {}, b""
        for name in sorted(header)[number::2]:
            begin, end = header[name]["data_offsets"]
            own[name] = {**header[name], "data_offsets": [len(data), len(data) + end - begin]}
            data += raw[start + begin : start + end]
            weight_map[name] = file
        text = json.dumps(own).encode()
        (folder / file).write_bytes(len(text).to_bytes(8, "little") + text + data)
    index = {"metadata": {"total_size": len(raw) - start}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    return folder


@every_implementation
def test_shards(crew: Crew, name: str, model: Path, tmp_path: Path) -> None:
    """Two shards load to the same names, shapes, types and digests; without the second one they do not."""
    whole = tensors_of(crew, name, model)
    assert len(whole) == 25 and {dtype for _, _, dtype, _ in whole} == {"BF16"}
    sharded = split(model, tmp_path / "sharded")
    assert tensors_of(crew, name, sharded) == whole
    (sharded / "model-00002-of-00002.safetensors").unlink()
    error = crew.refusal(name, "load", context=None, model=str(sharded))
    assert "model-00002-of-00002.safetensors" in f"{error.message} {error.where}"


@every_implementation
@pytest.mark.parametrize("folder", ["tiny_qwen3_sharded_mlxd", "tiny_qwen3_tied_mlxd"])
def test_packed_weights_are_refused(crew: Crew, name: str, folder: str, micro: Place) -> None:
    """4-bit weights: one clear line that says what is in the way, from `load` and from `evaluate`."""
    model = shared("models", folder)
    keys = micro.evaluate_keys(None, model=str(model))
    for request, asked in (("load", {"context": None, "model": str(model)}), ("evaluate", keys)):
        error = crew.refusal(name, request, **asked)
        words = f"{error.message} {error.where}"
        assert error.status == "checkpoint" and "\n" not in words
        assert re.search("quanti[sz]", words) and folder in words, words
