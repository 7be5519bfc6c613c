"""The oracle's loading: CASES H1 to H3, shards, packed weights, and a real checkpoint's arg-maxes."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hexapla.reference.oracle.failure import Failure
from hexapla.reference.oracle.model import Batch, read_model
from hexapla.reference.oracle.render import Rendered
from hexapla.reference.oracle.tensors import read_tensors
from oracle_support import CONFIG, CONTEXT, Event, ask, parameter_shapes, shared, write_model
from safetensors.numpy import load_file, save_file


def load(model: Path) -> list[Event]:
    return ask("load", model=str(model), context=CONTEXT)


def test_names_shapes_and_digests(tmp_path: Path) -> None:
    """Sorted by the name's bytes, a tied head left out, each digest that of the float32 values."""
    events = load(write_model(tmp_path))
    stored = load_file(tmp_path / "model.safetensors")
    assert [event["name"] for event in events[:-1]] == sorted(stored)
    for event in events[:-1]:
        values = stored[event["name"]]
        assert event["shape"] == list(values.shape) and event["dtype"] == "F32"
        assert event["digest"] == hashlib.sha256(values.tobytes()).hexdigest()
    count = sum(values.size for values in stored.values())
    assert events[-1] == {"id": "r", "event": "done", "tensors": len(stored), "parameters": count}


def test_a_head_stored_beside_a_tied_embedding(tmp_path: Path) -> None:
    """H1 b, c, d: equal is fine and counted once, different is refused, absent without a tie is refused."""
    write_model(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    alone = load(tmp_path)
    head = stored["model.embed_tokens.weight"].copy()
    save_file(stored | {"lm_head.weight": head}, tmp_path / "model.safetensors")
    assert load(tmp_path) == alone
    head[0, 0] += 1
    save_file(stored | {"lm_head.weight": head}, tmp_path / "model.safetensors")
    (event,) = load(tmp_path)
    assert (event["status"], event["where"]) == ("checkpoint", "lm_head.weight")
    save_file(stored, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"tie_word_embeddings": False}))
    (event,) = load(tmp_path)
    assert (event["status"], event["where"]) == ("checkpoint", "lm_head.weight")


def test_full_shape() -> None:
    """H1: head_dim is read, never derived; the released model's count of parameters."""
    config = CONFIG | {
        "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    }  # fmt: skip
    from hexapla.reference.oracle.config import ModelConfig  # noqa: PLC0415 -- one use
    from hexapla.reference.oracle.model import parameter_shapes as oracle_shapes  # noqa: PLC0415

    known = {key: value for key, value in config.items() if key in ModelConfig.__annotations__}
    shapes = dict(oracle_shapes(ModelConfig(**known)))
    assert shapes == parameter_shapes(config)
    assert len(shapes) == 310 and sum(int(np.prod(shape)) for shape in shapes.values()) == 596_049_920
    assert shapes["model.layers.27.self_attn.q_proj.weight"] == (2048, 1024)


@pytest.mark.parametrize("fault", ["missing", "unexpected", "shape"])
def test_wrong_tensors_are_refused(tmp_path: Path, fault: str) -> None:
    write_model(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    name = "model.layers.1.self_attn.v_proj.weight"
    if fault == "missing":
        del stored[name]
    elif fault == "shape":
        stored[name] = np.ascontiguousarray(stored[name].reshape(8, 32))
    else:
        name = "model.layers.0.mlp.gate_proj.scales"
        stored[name] = np.zeros(3, np.float32)
    save_file(stored, tmp_path / "model.safetensors")
    (event,) = load(tmp_path)
    assert (event["status"], event["where"]) == ("checkpoint", name)


def test_shards(tmp_path: Path) -> None:
    """A sharded model loads like a whole one; a shard that lacks what its index promises is refused."""
    whole = load(write_model(tmp_path))
    stored = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    names = sorted(stored)
    shards = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for shard, members in shards.items():
        save_file({name: stored[name] for name in members}, tmp_path / shard)
    index = {"weight_map": {name: shard for shard, members in shards.items() for name in members}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert load(tmp_path) == whole
    save_file({name: stored[name] for name in names[3::2]}, tmp_path / "b.safetensors")
    (event,) = load(tmp_path)
    assert (event["status"], event["where"]) == ("checkpoint", names[1])


@pytest.mark.parametrize("name", ["tiny_qwen3_tied_mlxd", "tiny_qwen3_sharded_mlxd"])
def test_packed_weights_are_refused(name: str) -> None:
    (event,) = load(shared("models", name))
    assert (event["event"], event["status"]) == ("error", "checkpoint")
    assert "quantization" in event["message"] and "\n" not in event["message"]


def test_a_real_checkpoints_arg_maxes() -> None:
    """Teacher forcing gives the published arg-max behind each of the last eight prefixes."""
    model, _ = read_model(shared("models", "tiny_qwen3_mlxd"))
    ids = [1, 2, 76, 112, 63, 76, 195, 184, 121, 189]
    best = []
    for length in range(2, 10):
        nll = [
            model.forward(
                Batch.pack([Rendered("r", [*ids[:length], token], bytes(length) + b"\x01")]), {}, 0.0, None
            )[0]
            for token in range(256)
        ]
        best.append(int(np.argmin(nll)))
    assert best == [76, 112, 63, 76, 112, 184, 121, 189]


def test_bf16_widens_exactly(tmp_path: Path) -> None:
    """H3."""
    raw = bytes.fromhex("803F 4940 F7C2 AB3E 80FF C07F 0080 0100")
    header = json.dumps({"x": {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}}).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + raw)
    values = read_tensors(path).tensors["x"].widen()
    expected = [1.0, 3.140625, -123.5, 0.333984375, -np.inf, np.nan, -0.0, 9.183549615799121e-41]
    np.testing.assert_array_equal(values, np.array(expected, np.float32))
    assert np.signbit(values[6])


def entry(begin: Any, end: Any, shape: Any = (1,), dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


MALFORMED: dict[str, tuple[Any, int]] = {
    "list": ([], 0),
    "overlap": ({"a": entry(0, 8, (2,)), "b": entry(4, 12, (2,))}, 12),
    "same_range": ({"a": entry(0, 4), "b": entry(0, 4)}, 4),
    "hole": ({"a": entry(0, 4), "b": entry(8, 12)}, 12),
    "first": ({"a": entry(4, 8)}, 8),
    "past_the_end": ({"a": entry(0, 8, (2,))}, 4),
    "behind": ({"a": entry(0, 4)}, 8),
    "bytes": ({"a": entry(0, 4, (2,))}, 4),
    "begin_after_end": ({"a": entry(4, 0)}, 4),
    "negative": ({"a": entry(-4, 0)}, 4),
    "one_offset": ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, 4),
    "dtype": ({"a": entry(0, 4, dtype="F31")}, 4),
    "huge": ({"a": entry(0, 4, (2**33, 2**33))}, 4),
    "metadata": ({"__metadata__": {"a": 1}, "a": entry(0, 4)}, 4),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused(tmp_path: Path, name: str) -> None:
    """H2."""
    header, data = MALFORMED[name]
    encoded, path = json.dumps(header).encode(), tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + bytes(data))
    with pytest.raises(Failure) as caught:
        read_tensors(path)
    assert caught.value.status == "checkpoint"


RAW = {
    "short": b"1234567",
    "length_past_the_end": struct.pack("<Q", 100) + b"{}",
    "length_2_63": struct.pack("<Q", 2**63) + b"{}",
    "broken": struct.pack("<Q", 2) + b"{ ",
    "name_twice": struct.pack("<Q", 16) + b'{"a": 1, "a": 1}',
}


@pytest.mark.parametrize("name", RAW)
def test_malformed_bytes_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(RAW[name])
    with pytest.raises(Failure) as caught:
        read_tensors(path)
    assert caught.value.status == "checkpoint"


def test_odd_but_good_files(tmp_path: Path) -> None:
    """H2: padding, entries out of order, an empty tensor, a scalar."""
    header = {"b": entry(4, 8, ()), "empty": entry(4, 4, (0,)), "a": entry(0, 4)}
    encoded, path = json.dumps(header).encode() + b"   ", tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + struct.pack("<2f", 1, 2))
    tensors = read_tensors(path).tensors
    assert tensors["b"].widen().shape == () and float(tensors["b"].widen()) == 2
    assert tensors["empty"].widen().shape == (0,) and tensors["a"].widen().tolist() == [1]
