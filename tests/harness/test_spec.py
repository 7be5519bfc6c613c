"""A specification has no defaults: every key is demanded, ranged and named when it is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hexapla.spec import SHIPPED, SpecError, check_spec, load_spec


def test_shipped_specs_load() -> None:
    digests = {load_spec(name).digest for name in SHIPPED}
    assert len(digests) == len(SHIPPED)


def test_digest_is_of_sorted_compact_json() -> None:
    spec = load_spec("micro")
    shuffled = dict(reversed(spec.values.items()))
    assert type(spec)("other", shuffled).digest == spec.digest
    assert type(spec)("other", {**shuffled, "seed": 2}).digest != spec.digest


@pytest.mark.parametrize("key", sorted(load_spec("tiny").values))
def test_every_key_is_demanded(key: str) -> None:
    values = {name: value for name, value in load_spec("tiny").values.items() if name != key}
    with pytest.raises(SpecError, match=f"^{key}: missing"):
        check_spec(values)


WRONG: list[tuple[str, Any]] = [
    ("seed", -1),
    ("seed", 2**31),
    ("seed", True),
    ("updates", 0),
    ("updates", 1.0),
    ("micro_batch", 17),
    ("length", 1),
    ("warmup_updates", 61),
    ("learning_rate", 0),
    ("learning_rate", "2e-3"),
    ("decay", "exponential"),
    ("decay_floor", 1.5),
    ("beta1", 1),
    ("beta2", -0.1),
    ("epsilon", 0.0),
    ("weight_decay", -1),
    ("clip_norm", 0),
    ("rank", 0),
    ("targets", []),
    ("targets", ["q_proj", "q_proj"]),
    ("targets", ["lm_head"]),
    ("targets", "q_proj"),
    ("template", "llama"),
    ("precision", "bf16"),
    ("dropout", 0),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_wrong_values_are_named(key: str, value: Any) -> None:
    with pytest.raises(SpecError) as caught:
        check_spec({**load_spec("tiny").values, key: value})
    assert str(caught.value).startswith(f"{key}: ")


@pytest.mark.parametrize(
    ("text", "word"),
    [("", "empty"), ("[]", "list"), ('{"seed": 1, "seed": 1}', "duplicate"), ("{", "column")],
)
def test_files_that_are_no_spec(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "spec.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(str(path))
    assert word in str(caught.value) and str(path) in str(caught.value)
    with pytest.raises(SpecError, match="No such file"):
        load_spec(str(tmp_path / "absent.json"))


def test_own_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(load_spec("tiny").values), "utf-8")
    assert load_spec(str(path)).digest == load_spec("tiny").digest
