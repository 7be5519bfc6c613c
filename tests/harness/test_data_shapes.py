"""Random base weights for a foreign tokenizer: shape, scale, repeatable bits, cached once."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from embedded_scripts import EMBEDDED
from hexapla.data.adapter import read_shape
from hexapla.data.shapes import random_weights, read_vocabulary, resolve_model, to_bfloat16


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer whose ids have a gap below the added tokens."""
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    description = {
        "added_tokens": [{"id": 999, "content": "<|im_end|>"}],
        "model": {"vocab": {"a": 0, "b": 1}},
    }
    (folder / "tokenizer.json").write_text(json.dumps(description), encoding="utf-8")
    return folder


def test_rounding_to_bfloat16_is_case_h3() -> None:
    given = np.array(
        [0x3F808000, 0x3F818000, 0x3F808001, 0xBF838000, 0x3F837FFF, 0x7F7FFFFF], dtype=np.uint32
    ).view(np.float32)
    assert [f"{bits:04X}" for bits in to_bfloat16(given)] == ["3F80", "3F82", "3F81", "BF84", "3F83", "7F80"]


def test_model_is_made_once_and_at_the_tokenizers_vocabulary(tokenizer: Path, tmp_path: Path) -> None:
    folder = resolve_model(tokenizer, tmp_path / "cache")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (config["vocab_size"], config["eos_token_id"], config["bos_token_id"]) == (1000, 999, None)
    made = (folder / "model.safetensors").stat()
    assert resolve_model(tokenizer, tmp_path / "cache") == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == made.st_mtime_ns
    other = resolve_model(tokenizer, tmp_path / "other")
    assert (other / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert not list((tmp_path / "cache").glob("*.partial"))


def test_names_and_shapes_are_those_of_the_embedded_model(tokenizer: Path, tmp_path: Path) -> None:
    def header(file: Path) -> dict[str, object]:
        data = file.read_bytes()
        entries = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return {
            name: (entry["dtype"], entry["shape"][1:]) for name, entry in entries.items() if "dtype" in entry
        }

    folder = resolve_model(tokenizer, tmp_path / "cache")
    assert header(folder / "model.safetensors") == header(EMBEDDED / "model" / "model.safetensors")


def test_gains_are_one_and_weights_keep_their_scale() -> None:
    from_config = random_weights(read_shape(EMBEDDED / "model"), 500)
    for name, bits in from_config.items():
        values = (bits.astype(np.uint32) << 16).view(np.float32)
        if name.endswith("norm.weight"):
            assert (values == 1).all(), name
        else:
            expected = 0.02 if "embed" in name else 0.5 / math.sqrt(values.shape[1])
            assert values.std() == pytest.approx(expected, rel=0.03), name


def test_cross_entropy_begins_near_the_logarithm_of_the_vocabulary(tokenizer: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install 'hexapla[torch]'")
    transformers = pytest.importorskip("transformers", reason="pip install 'hexapla[torch]'")
    folder = resolve_model(tokenizer, tmp_path / "cache")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = (torch.arange(64) * 37 % 1000)[None]
    with torch.no_grad():
        loss = model(input_ids=ids, labels=ids).loss.item()
    assert loss == pytest.approx(math.log(1000), rel=0.05)


@pytest.mark.parametrize("content", ["{", "[]", '{"added_tokens": [], "model": {"vocab": []}}'])
def test_a_bad_tokenizer_is_one_clear_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"tokenizer\.json: not a tokenizer"):
        read_vocabulary(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match="not a tokenizer"):
        resolve_model(tmp_path, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())
