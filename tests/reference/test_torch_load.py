"""Loading by the torch trainer: digests of what sits in the model, case H1, packed weights, bad files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from torch_process import CONFIG, DATA, Trainer, make_model, model_tensors

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("peft", reason="peft is not installed")

HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


@pytest.fixture(scope="module")
def trainer() -> Iterator[Trainer]:
    running = Trainer()
    yield running
    running.close()


def refusal(events: list[dict[str, Any]]) -> str:
    (event,) = events
    assert (event["event"], event["status"]) == ("error", "checkpoint")
    return f"{event['message']} | {event['where']}"


@pytest.mark.parametrize("model_type", ["qwen3", "llama"])
@pytest.mark.parametrize("stored", ["F32", "F16", "BF16"])
def test_digests_are_of_the_widened_values(
    tmp_path: Path, trainer: Trainer, model_type: str, stored: str
) -> None:
    from safetensors.torch import save_file as save_torch  # noqa: PLC0415 - only with torch

    dtype = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}[stored]
    values = model_tensors({**CONFIG, "model_type": model_type})
    tensors = {name: torch.from_numpy(value).to(dtype) for name, value in values.items()}
    folder = make_model(tmp_path / "model", {}, model_type=model_type)
    save_torch(tensors, folder / "model.safetensors")
    *events, done = trainer.ask("load", model=str(folder))
    assert [event["name"] for event in events] == sorted(tensors)
    for event in events:
        widened = tensors[event["name"]].float().numpy()
        assert event["digest"] == hashlib.sha256(widened.tobytes()).hexdigest()
        assert (event["dtype"], tuple(event["shape"])) == (stored, widened.shape)
    assert done["tensors"] == len(tensors)
    assert done["parameters"] == sum(value.size for value in values.values())


def test_h1_tied_head(tmp_path: Path, trainer: Trainer) -> None:
    tensors = model_tensors(CONFIG)
    (absent, equal, different) = (
        make_model(tmp_path / name, {**tensors, **head})
        for name, head in (
            ("absent", {}),
            ("equal", {HEAD: tensors[EMBEDDING]}),
            ("different", {HEAD: tensors[EMBEDDING] + np.float32(1)}),
        )
    )
    loaded = trainer.ask("load", model=str(absent))
    again = trainer.ask("load", model=str(equal))
    assert [event.get("digest") for event in loaded] == [event.get("digest") for event in again]
    assert HEAD not in [event.get("name") for event in again]
    assert again[-1]["tensors"] == len(tensors)
    assert HEAD in refusal(trainer.ask("load", model=str(different)))


def test_h1_untied_head(tmp_path: Path, trainer: Trainer) -> None:
    tensors = model_tensors(CONFIG)
    headless = make_model(tmp_path / "headless", tensors, tie_word_embeddings=False)
    assert HEAD in refusal(trainer.ask("load", model=str(headless)))
    whole = make_model(
        tmp_path / "whole", {**tensors, HEAD: tensors[EMBEDDING] + 1}, tie_word_embeddings=False
    )
    assert trainer.ask("load", model=str(whole))[0]["name"] == HEAD


@pytest.mark.parametrize(
    "change", ["missing", "unexpected", "transposed", "head_dim", "rms_norm_eps", "rope", "quantised"]
)
def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, trainer: Trainer, change: str) -> None:
    tensors, config = model_tensors(CONFIG), {}
    name = "model.layers.1.self_attn.k_proj.weight"
    expected = name
    match change:
        case "missing":
            del tensors[name]
        case "unexpected":
            expected = "model.extra"
            tensors[expected] = np.zeros(1, dtype="f4")
        case "transposed":
            tensors[name] = np.zeros((8, 32), dtype="f4")
        case "rope":
            expected, config = "rope_scaling", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}
        case "quantised":
            tensors[name] = tensors[name].astype("u4")
        case _:
            expected, config = change, {change: None}
    folder = make_model(tmp_path / "model", tensors, **config)
    assert expected in refusal(trainer.ask("load", model=str(folder)))


def test_theta_may_stand_in_rope_parameters(tmp_path: Path, trainer: Trainer) -> None:
    rope = {"rope_type": "default", "rope_theta": 10000.0}
    folder = make_model(tmp_path / "model", model_tensors(CONFIG), rope_theta=None, rope_parameters=rope)
    assert trainer.ask("load", model=str(folder))[-1]["event"] == "done"


def test_shards_load_to_the_same_digests_and_a_missing_one_is_refused(
    tmp_path: Path, trainer: Trainer
) -> None:
    folder = make_model(tmp_path / "model", model_tensors(CONFIG))
    whole = trainer.ask("load", model=str(folder))
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    weight_map = {name: f"part-{i % 2}.safetensors" for i, name in enumerate(tensors)}
    for shard in set(weight_map.values()):
        part = {name: value for name, value in tensors.items() if weight_map[name] == shard}
        save_file(part, folder / shard)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    sharded = trainer.ask("load", model=str(folder))
    assert [event.get("digest") for event in whole] == [event.get("digest") for event in sharded]
    index.write_text(json.dumps({"weight_map": {**weight_map, "lost": "part-0.safetensors"}}))
    assert "lost" in refusal(trainer.ask("load", model=str(folder)))


@pytest.mark.parametrize("damage", ["short", "long", "header", "huge", "twice"])
def test_h2_malformed_files(tmp_path: Path, trainer: Trainer, damage: str) -> None:
    folder = make_model(tmp_path / "model", model_tensors(CONFIG))
    file = folder / "model.safetensors"
    data = file.read_bytes()
    if damage == "short":
        data = data[:-4]
    elif damage == "long":
        data += b"\0"
    elif damage == "header":
        data = data[:8] + b"[" + data[9:]
    elif damage == "huge":
        data = (2**63).to_bytes(8, "little") + data[8:]
    else:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        name = next(name for name in header if name != "__metadata__")
        again = json.dumps({name: header[name]}).encode()[1:-1]
        text = data[8 : 8 + size].rstrip()[:-1] + b"," + again + b"}"
        data = len(text).to_bytes(8, "little") + text + data[8 + size :]
    file.write_bytes(data)
    assert "safetensors" in refusal(trainer.ask("load", model=str(folder)))


@pytest.mark.skipif(not DATA.exists(), reason="the data folder (HEXAPLA_DATA) is absent")
@pytest.mark.parametrize("name", ["tiny_qwen3_tied_mlxd", "tiny_qwen3_sharded_mlxd"])
def test_packed_weights_are_refused_in_one_line(trainer: Trainer, name: str) -> None:
    assert "packed" in refusal(trainer.ask("load", model=str(DATA / "models" / name)))
