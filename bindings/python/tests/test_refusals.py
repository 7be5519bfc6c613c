"""What the trainer refuses: models, adapters, specs, records, by name and in one line; what it accepts."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hexapla_core import Context, Tensor, write_checkpoint
from hexapla_core.trainer.adapter import adapter_shapes, check_adapter_config, load_adapter, make_moments
from hexapla_core.trainer.checkpoint import folder_of, resume, save
from hexapla_core.trainer.failure import Failure
from hexapla_core.trainer.model import HEAD, load_model, read_config
from hexapla_core.trainer.records import read_records
from hexapla_core.trainer.spec import TARGETS, parse_spec

CONFIG: dict[str, Any] = {
    "model_type": "qwen3",
    "vocab_size": 8,
    "hidden_size": 6,
    "intermediate_size": 10,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000,
    "tie_word_embeddings": True,
}
SPEC: dict[str, Any] = {
    "seed": 1,
    "updates": 4,
    "batch": 4,
    "micro_batch": 2,
    "length": 64,
    "learning_rate": 2e-3,
    "warmup_updates": 0,
    "decay": "linear",
    "decay_floor": 0,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-8,
    "weight_decay": 0.0,
    "clip_norm": 1.0,
    "rank": 2,
    "alpha": 4,
    "targets": list(TARGETS),
    "evaluate_every": 1,
    "save_every": 2,
    "template": "qwen3",
    "precision": "f32",
}


def write(context: Context, path: Path, shapes: dict[str, tuple[int, ...]], fill: dict[str, float]) -> None:
    with ExitStack() as stack:
        tensors = {name: stack.enter_context(Tensor(context, shape)) for name, shape in shapes.items()}
        for name, value in fill.items():
            tensors[name].fill(value)
        write_checkpoint(path, tensors)


def model_folder(
    context: Context, folder: Path, config: dict[str, Any], head: float | None = None, drop: str | None = None
) -> str:
    """A model of zeros; `head`: its head is stored too, filled with that."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}, indent=1))
    shapes = read_config(folder / "config.json").shapes()
    if head is not None:
        shapes[HEAD] = (8, 6)
    if drop is not None:
        del shapes[drop]
    write(context, folder / "model.safetensors", shapes, {} if head is None else {HEAD: head})
    return str(folder)


def test_tied_and_untied_heads(context: Context, tmp_path: Path) -> None:
    """Case H1."""
    with load_model(context, model_folder(context, tmp_path / "absent", {})) as model:
        assert model.head is model.embedding
        assert len(model.weights) == 2 + 2 * 11
    with load_model(context, model_folder(context, tmp_path / "equal", {}, head=0.0)) as model:
        assert HEAD not in model.weights
    with pytest.raises(Failure, match="ties the head") as differs:
        load_model(context, model_folder(context, tmp_path / "differs", {}, head=1.0))
    assert (differs.value.status, differs.value.where) == ("checkpoint", HEAD)
    untied = {"tie_word_embeddings": False}
    with load_model(context, model_folder(context, tmp_path / "untied", untied)) as model:
        assert model.head is model.weights[HEAD]
    with pytest.raises(Failure, match=r"missing 1 \(lm_head\.weight\)"):
        load_model(context, model_folder(context, tmp_path / "none", untied, drop=HEAD))


def test_llama_has_no_head_norms_and_keeps_theta_inside(context: Context, tmp_path: Path) -> None:
    config = {"model_type": "llama", "rope_parameters": {"rope_theta": 5e5}}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({key: CONFIG[key] for key in CONFIG if key != "rope_theta"} | config))
    read = read_config(path)
    assert (read.theta, read.head_norms) == (5e5, False)
    assert len(read.shapes()) == 2 + 2 * 9


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"model_type": "gpt2"}, "model_type"),
        ({"head_dim": None}, "head_dim"),
        ({"head_dim": 3}, "head_dim"),
        ({"quantization_config": {}}, "quantization_config"),
        ({"quantization": {"bits": 4}}, "quantization"),
        ({"attention_bias": True}, "attention_bias"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4}}, "rope_scaling"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4}}, "rope_parameters"),
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings"),
        ({"rms_norm_eps": 0}, "rms_norm_eps"),
        ({"vocab_size": 8.0}, "vocab_size"),
    ],
)
def test_configs_that_are_refused(tmp_path: Path, change: dict[str, Any], key: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, **change}))
    with pytest.raises(Failure, match=f"^{key}: ") as caught:
        read_config(path)
    assert caught.value.status == "checkpoint"
    assert "\n" not in caught.value.message


def test_adapters_of_other_names_or_shapes(context: Context, tmp_path: Path) -> None:
    """Case H4."""
    config_path = tmp_path / "config.json"
    config_path.write_text(json.dumps(CONFIG))
    config, spec = read_config(config_path), parse_spec(SPEC)
    right: dict[str, tuple[int, ...]] = dict(adapter_shapes(config, spec))
    assert len(right) == 2 * 7 * 2
    first = next(iter(right))
    wrong = {
        r"missing 1 \(base_model.*lora_A": {name: shape for name, shape in right.items() if name != first},
        r"unexpected 1 \(extra\)": {**right, "extra": (1,)},
        r"missing 28 .*unexpected 28": {f"x.{name}": shape for name, shape in right.items()},
        r"other shape 1 \(base_model.*\[6, 2\], must be \[2, 6\]": {**right, first: (6, 2)},
    }
    for text, shapes in wrong.items():
        write(context, tmp_path / "adapter_model.safetensors", shapes, {})
        with pytest.raises(Failure, match=text) as caught:
            load_adapter(context, str(tmp_path), config, spec)
        assert caught.value.status == "checkpoint"
    write(context, tmp_path / "adapter_model.safetensors", right, {})
    with load_adapter(context, str(tmp_path), config, spec) as adapter:
        assert list(adapter.tensors) == list(right)
    for values in ({"r": 3, "lora_alpha": 4}, {"r": 2}, {"r": 2, "lora_alpha": 5}):
        (tmp_path / "adapter_config.json").write_text(json.dumps(values))
        with pytest.raises(Failure, match="the spec says"):
            check_adapter_config(str(tmp_path), spec)


def test_checkpoints_are_whole_and_belong_to_a_spec(context: Context, tmp_path: Path) -> None:
    config_path = tmp_path / "config.json"
    config_path.write_text(json.dumps(CONFIG))
    config, spec = read_config(config_path), parse_spec(SPEC)
    write(context, tmp_path / "adapter_model.safetensors", dict(adapter_shapes(config, spec)), {})
    (tmp_path / "checkpoint-000003.partial").mkdir()
    (tmp_path / "checkpoint-000003.partial" / "rest").write_text("left over")
    with (
        load_adapter(context, str(tmp_path), config, spec) as adapter,
        make_moments(context, adapter_shapes(config, spec)) as moments,
    ):
        folder = save(str(tmp_path), 3, adapter, moments, b"{}\n", "abc")
        digests = adapter.digest(), moments.digest()
    assert folder == folder_of(str(tmp_path), 3)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors"]
    assert (folder / "adapter_config.json").read_bytes() == b"{}\n"
    assert not folder.with_name(folder.name + ".partial").exists()
    update, adapter, moments = resume(context, str(folder), config, spec, "abc")
    with adapter, moments:
        assert (update, adapter.digest(), moments.digest()) == (3, *digests)
    with pytest.raises(Failure, match="spec_digest is abc") as caught:
        resume(context, str(folder), config, spec, "abd")
    assert caught.value.status == "checkpoint"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"updates": 0}, "updates"),
        ({"updates": 4.0}, "updates"),
        ({"micro_batch": 5}, "micro_batch"),
        ({"length": 1}, "length"),
        ({"warmup_updates": 5}, "warmup_updates"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"beta1": 1}, "beta1"),
        ({"decay_floor": 1.5}, "decay_floor"),
        ({"decay": "step"}, "decay"),
        ({"targets": []}, "targets"),
        ({"targets": ["q_proj", "q_proj"]}, "targets"),
        ({"targets": ["x_proj"]}, "targets"),
        ({"targets": [[]]}, "targets"),
        ({"template": []}, "template"),
        ({"precision": "bf16"}, "precision"),
        ({"dropout": 0}, "dropout"),
    ],
)
def test_specs_that_are_refused(change: dict[str, Any], key: str) -> None:
    with pytest.raises(Failure) as caught:
        parse_spec({**SPEC, **change})
    assert (caught.value.status, caught.value.where) == ("spec", key)
    assert key in caught.value.message


def test_a_spec_without_a_key_is_refused() -> None:
    for key in SPEC:
        with pytest.raises(Failure, match=f"missing key {key}"):
            parse_spec({name: value for name, value in SPEC.items() if name != key})


def test_linear_decay_without_warm_up() -> None:
    spec = parse_spec(SPEC)
    rates = [spec.learning_rate_at(update) / 2e-3 for update in (1, 2, 3, 4)]
    assert rates == pytest.approx([0.75, 0.5, 0.25, 0], rel=1e-6)


def test_records_are_split_at_line_feeds_only(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes('{"id":"a","question":"\u2028","answer":"\u0085","more":1}\r\n'.encode())
    with path.open("ab") as file:
        file.write(b'{"id":"b","question":"","answer":"\\u0000","system":"s"}')
    first, second = read_records(str(path))
    assert (first.question, first.answer, first.system) == ("\u2028", "\u0085", None)
    assert (second.answer, second.system) == ("\0", "s")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"id":"a","question":"q","answer":"x"}', "duplicate id"),
        (b"", "empty"),
        (b'{"id":"b","question":"q"}', "missing key answer"),
        (b'{"id":"b","question":"q","answer":1}', "must be a string"),
        (b'{"id":"b","question":"q","answer":"x","system":null}', "must be a string"),
        (b"[]", "not an object"),
    ],
)
def test_records_that_are_refused(tmp_path: Path, line: bytes, text: str) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"id":"a","question":"q","answer":"x"}\n' + line + b"\n")
    with pytest.raises(Failure, match=text) as caught:
        read_records(str(path))
    assert (caught.value.status, caught.value.where) == ("record", f"{path}:2")
