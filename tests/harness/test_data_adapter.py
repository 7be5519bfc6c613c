"""The initial adapter: SPEC.md's check values, PEFT's names, repeatable bytes, and PEFT itself loads it."""

import json
from pathlib import Path

import numpy as np
import pytest
from embedded_scripts import EMBEDDED
from hexapla.data.adapter import Shape, initial_tensors, make_initial_adapter, read_shape
from hexapla.data.order import epoch_order, splitmix64
from safetensors import safe_open
from safetensors.numpy import load_file

SPEC = json.loads((EMBEDDED.parents[1] / "spec" / "tiny.json").read_text(encoding="utf-8"))


def test_splitmix_check_value() -> None:
    assert int(splitmix64(0, 0, 1)[0]) == 0xE220A8397B1DCDAF
    assert np.array_equal(splitmix64(7, 0, 9)[4:], splitmix64(7, 4, 5))


def test_epoch_order_check_values() -> None:
    assert epoch_order(1, 0, 10) == [9, 7, 4, 0, 3, 8, 2, 5, 1, 6]
    assert epoch_order(1, 1, 10) == [1, 6, 3, 2, 4, 5, 9, 8, 0, 7]


def test_first_values_of_seed_1() -> None:
    tensors = initial_tensors(read_shape(EMBEDDED / "model"), SPEC)
    first = tensors["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"]
    assert [f"{value:.9f}" for value in first[0, :3]] == ["0.033693001", "-0.038817678", "-0.057240900"]


def test_the_stream_runs_on_over_the_tensors() -> None:
    """Layer 0's k_proj begins where q_proj's A ended, B drawing nothing."""
    tensors = initial_tensors(read_shape(EMBEDDED / "model"), SPEC)
    number = int(splitmix64((1 << 32) + (1 << 32) - 1, 8 * 128, 1)[0])
    expected = np.float32(((number >> 40) * 2.0**-23 - 1) / np.sqrt(128.0))
    assert tensors["base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight"][0, 0] == expected


def test_shapes_of_the_study() -> None:
    """Case E6: rank 16 on Qwen3-0.6B gives 392 tensors of 10,092,544 values; case F4: bound and deviation
    of A.
    """
    shape = Shape(layers=28, hidden=1024, intermediate=3072, heads=16, kv_heads=8, head_dim=128)
    tensors = initial_tensors(shape, {**SPEC, "rank": 16})
    assert len(tensors) == 392
    assert sum(tensor.size for tensor in tensors.values()) == 10_092_544
    for name, tensor in tensors.items():
        if "lora_B" in name:
            assert not tensor.any()
    a = tensors["base_model.model.model.layers.3.mlp.down_proj.lora_A.weight"]
    assert a.shape == (16, 3072)
    assert 0.0179 < np.abs(a).max() <= 0.0180422
    assert a.std() == pytest.approx(0.0104167, rel=0.02)


def test_same_input_gives_same_bytes_and_targets_are_in_adapter_order(tmp_path: Path) -> None:
    shuffled = {**SPEC, "targets": ["up_proj", "q_proj"]}
    for name in ("a", "b"):
        make_initial_adapter(EMBEDDED / "model", shuffled, tmp_path / name)
    for file in ("adapter_model.safetensors", "adapter_config.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert json.loads((tmp_path / "a" / "adapter_config.json").read_bytes())["target_modules"] == [
        "q_proj",
        "up_proj",
    ]
    assert len(load_file(tmp_path / "a" / "adapter_model.safetensors")) == 5 * 2 * 2
    assert not list((tmp_path / "a").glob("*.partial"))


@pytest.mark.parametrize(
    ("config", "message"),
    [("{}", "num_hidden_layers"), ("[]", "expected an object"), ("{", "not JSON"), (None, "no such file")],
)
def test_a_bad_model_folder_is_one_clear_line(tmp_path: Path, config: str | None, message: str) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        make_initial_adapter(tmp_path, SPEC, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_unknown_target_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lm_head"):
        make_initial_adapter(EMBEDDED / "model", {**SPEC, "targets": ["q_proj", "lm_head"]}, tmp_path)


def test_peft_loads_it_and_nothing_is_left_over(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install 'hexapla[torch]'")
    peft = pytest.importorskip("peft", reason="pip install 'hexapla[torch]'")
    transformers = pytest.importorskip("transformers", reason="pip install 'hexapla[torch]'")
    make_initial_adapter(EMBEDDED / "model", SPEC, tmp_path)
    base = transformers.AutoModelForCausalLM.from_pretrained(EMBEDDED / "model", dtype=torch.float32)
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad():
        without = base(input_ids=ids).logits
        model = peft.PeftModel.from_pretrained(base, tmp_path)
        assert torch.equal(model(input_ids=ids).logits, without)
    loaded = {
        name.replace(".default", ""): value for name, value in model.named_parameters() if "lora_" in name
    }
    with safe_open(tmp_path / "adapter_model.safetensors", "numpy") as file:
        assert sorted(loaded) == sorted(file.keys())
        for name, value in loaded.items():
            assert np.array_equal(value.detach().numpy(), file.get_tensor(name)), name
