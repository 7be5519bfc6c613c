"""Cases H1, H2 and H4 through every trainer: which files load, which are refused, and by what words.

The formats' every corner is tested at core and at the references' readers; here the question is whether the
whole trainer says no, in one line that names the place, and lives on.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crew import EMBEDDED, Crew, Place, every_implementation, write_records
from hexapla.data.adapter import Shape, initial_tensors, make_initial_adapter, tensor_shapes
from hexapla.data.shapes import random_weights
from hexapla.protocol import Done, Evaluation, TensorInfo
from hexapla.spec import Spec, load_spec
from models import EMBEDDING, HEAD, SMALL, widened, write_model
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

VOCABULARY = 768  # the embedded tokenizer's
Tensors = dict[str, NDArray[np.float32]]


@pytest.fixture(scope="module")
def stored() -> Tensors:
    """A small model's tensors; the sizes of its heads are not hidden / heads."""
    return {name: widened(bits) for name, bits in random_weights(SMALL, VOCABULARY).items()}


def loaded(crew: Crew, name: str, model: Path) -> tuple[dict[str, tuple[list[int], str]], Mapping[str, Any]]:
    """Shape and digest of every tensor, and the counts."""
    answer = crew.ask(name, "load", context=None, model=str(model))
    assert isinstance(answer.end, Done)
    infos = [event for event in answer.events if isinstance(event, TensorInfo)]
    return {info.name: (info.shape, info.digest) for info in infos}, answer.end.values


def small_place(folder: Path, model: Path, tokenizer: Path = EMBEDDED / "tokenizer") -> Place:
    """One record to evaluate on a small model."""
    spec = load_spec("micro")
    make_initial_adapter(model, spec.values, folder / "adapter")
    records = write_records(folder / "records.jsonl", {"question": "What is it?", "answer": "A test."})
    return Place(spec, model, tokenizer, records, records, folder / "adapter")


@every_implementation
def test_h1_tied_head(crew: Crew, name: str, stored: Tensors, tmp_path: Path) -> None:
    """(a) absent, (b) stored and equal: the embedding is the head; explicit shapes, nothing counted twice."""
    absent = write_model(tmp_path / "absent", SMALL, VOCABULARY, stored)
    equal = write_model(tmp_path / "equal", SMALL, VOCABULARY, {**stored, HEAD: stored[EMBEDDING]})
    untied = write_model(
        tmp_path / "untied", SMALL, VOCABULARY, {**stored, HEAD: stored[EMBEDDING]}, tied=False
    )
    tensors, counts = loaded(crew, name, absent)
    assert list(tensors) == sorted(stored, key=str.encode)
    assert tensors == {
        key: (list(values.shape), hashlib.sha256(values.tobytes()).hexdigest())
        for key, values in stored.items()
    }
    assert tensors["model.layers.0.self_attn.q_proj.weight"][0] == [32, 16]
    assert tensors["model.layers.0.self_attn.q_norm.weight"][0] == [8]
    assert counts == {"tensors": len(stored), "parameters": sum(each.size for each in stored.values())}
    assert loaded(crew, name, equal) == (tensors, counts)
    assert loaded(crew, name, untied)[1]["tensors"] == len(stored) + 1
    place = small_place(tmp_path, absent)
    seen = [
        crew.evaluate(name, replace(place, model=model), place.adapter) for model in (absent, equal, untied)
    ]
    assert len({evaluation.total_bits for evaluation in seen}) == 1


@every_implementation
def test_h1_heads_that_contradict_the_config(crew: Crew, name: str, stored: Tensors, tmp_path: Path) -> None:
    """(c) both stored, different, config tied; (d) head absent, config untied."""
    other = stored[EMBEDDING].copy()
    other[3, 2] += 1
    for folder, tensors, tied in (("c", {**stored, HEAD: other}, True), ("d", stored, False)):
        model = write_model(tmp_path / folder, SMALL, VOCABULARY, tensors, tied)
        place = small_place(tmp_path, model)
        for request, keys in (
            ("load", {"context": None, "model": str(model)}),
            ("evaluate", place.evaluate_keys(None)),
        ):
            error = crew.refusal(name, request, **keys)
            assert error.status == "checkpoint" and HEAD in f"{error.message} {error.where}", (
                folder,
                request,
            )


@every_implementation
def test_h1_every_parameter_is_written_once(crew: Crew, name: str, stored: Tensors, tmp_path: Path) -> None:
    """A missing and a misshapen tensor are refused by name: none keeps its initial value."""
    norm = "model.layers.1.post_attention_layernorm.weight"
    wrong = {"missing": {key: each for key, each in stored.items() if key != norm}}
    wrong["shape"] = {**stored, norm: np.ones(8, np.float32)}
    for folder, tensors in wrong.items():
        model = write_model(tmp_path / folder, SMALL, VOCABULARY, tensors)
        error = crew.refusal(name, "load", context=None, model=str(model))
        assert norm in f"{error.message} {error.where}" and "\n" not in error.message


Damage = Callable[[dict[str, Any], bytes], bytes]


def file_of(header: Any, data: bytes, padding: str = "") -> bytes:
    """A safetensors file of this header."""
    text = (header if isinstance(header, str) else json.dumps(header)) + padding
    return len(text.encode()).to_bytes(8, "little") + text.encode() + data


def entry(header: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The header with changes to its first tensor's entry; None drops a key."""
    first = next(key for key in header if key != "__metadata__")
    changed = {key: value for key, value in {**header[first], **changes}.items() if value is not None}
    return {**header, first: changed}


def shifted(header: dict[str, Any], by: int) -> dict[str, Any]:
    return {
        key: {**each, "data_offsets": [offset + by for offset in each["data_offsets"]]}
        for key, each in header.items()
        if key != "__metadata__"
    }


def overlapping(header: dict[str, Any], data: bytes) -> bytes:
    """Two tensors of one length in one range."""
    names = [key for key in header if key.endswith("input_layernorm.weight")]
    return file_of({**header, names[1]: header[names[0]]}, data)


def first_range(header: dict[str, Any]) -> list[int]:
    return next(list(each["data_offsets"]) for key, each in header.items() if key != "__metadata__")


ACCEPTED: dict[str, Damage] = {
    "plain": file_of,
    "padded with spaces": lambda header, data: file_of(header, data, " " * 64),
    "entries in another order": lambda header, data: file_of(dict(reversed(header.items())), data),
}
REFUSED: dict[str, Damage] = {
    "header beyond the file": lambda header, data: (1 << 40).to_bytes(8, "little") + data,
    "header length 2^63": lambda header, data: (1 << 63).to_bytes(8, "little") + data,
    "7 bytes": lambda header, data: b"\1\0\0\0\0\0\0",
    "broken JSON": lambda header, data: file_of(json.dumps(header)[:-1] + "!", data),
    "header is a list": lambda header, data: file_of("[]", data),
    "overlap": overlapping,
    "hole and end past the file": lambda header, data: file_of(shifted(header, 4), data),
    "cut": lambda header, data: file_of(header, data[:-4]),
    "bytes behind": lambda header, data: file_of(header, data + b"\0\0\0\0"),
    "shape and bytes disagree": lambda header, data: file_of(entry(header, shape=[3]), data),
    "begin after end": lambda header, data: file_of(
        entry(header, data_offsets=first_range(header)[::-1]), data
    ),
    "negative offset": lambda header, data: file_of(entry(header, data_offsets=[-4, 0]), data),
    "one offset": lambda header, data: file_of(entry(header, data_offsets=[0]), data),
    "unknown dtype": lambda header, data: file_of(entry(header, dtype="F99"), data),
    "huge shape": lambda header, data: file_of(entry(header, shape=[1 << 33, 1 << 33]), data),
    "metadata no string": lambda header, data: file_of({**header, "__metadata__": {"a": 1}}, data),
    "one name twice": lambda header, data: file_of(
        json.dumps(header)[:-1] + f', "{HEAD}": {{}}, "{HEAD}": {{}}}}', data
    ),
}


def damaged(model: Path, folder: Path, damage: Damage) -> Path:
    """A copy of a model whose file was made anew from its header and data."""
    shutil.copytree(model, folder)
    raw = (model / "model.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    (folder / "model.safetensors").write_bytes(damage(header, raw[8 + length :]))
    return folder


@every_implementation
def test_h2_malformed_files(crew: Crew, name: str, stored: Tensors, tmp_path: Path) -> None:
    """One trainer takes them all in turn: an error each, no crash, and the good file still loads after."""
    model = write_model(tmp_path / "good", SMALL, VOCABULARY, stored)
    right = loaded(crew, name, model)
    for number, (case, damage) in enumerate(ACCEPTED.items()):
        assert loaded(crew, name, damaged(model, tmp_path / f"accepted-{number}", damage)) == right, case
    for number, (case, damage) in enumerate(REFUSED.items()):
        folder = damaged(model, tmp_path / f"refused-{number}", damage)
        error = crew.refusal(name, "load", context=None, model=str(folder))
        assert error.message and "\n" not in error.message, case
        assert "model.safetensors" in f"{error.message} {error.where}" or folder.name in error.where, case
    assert loaded(crew, name, model) == right


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """28 layers of next to nothing, so that the adapter has the published study's 392 tensors."""
    folder = tmp_path_factory.mktemp("deep")
    shape = Shape(layers=28, hidden=8, intermediate=12, heads=2, kv_heads=1, head_dim=6)
    model = write_model(folder / "model", shape, VOCABULARY, random_weights(shape, VOCABULARY))
    place = small_place(folder, model)
    spec = Spec("deep", {**place.spec.values, "rank": 4, "alpha": 8})
    make_initial_adapter(model, spec.values, folder / "adapter")
    assert len(tensor_shapes(shape, spec.values)) == 392
    return replace(place, spec=spec)


PREFIX = "base_model.model.model.layers"
Q0 = f"{PREFIX}.0.self_attn.q_proj"
WRONG: dict[str, tuple[Callable[[Tensors], Tensors], list[tuple[int, str]]]] = {
    "one B removed": (
        lambda right: {key: each for key, each in right.items() if key != f"{Q0}.lora_B.weight"},
        [(1, f"{Q0}.lora_B.weight")],
    ),
    "one extra": (lambda right: {**right, "extra.weight": np.ones((1, 1), "f4")}, [(1, "extra.weight")]),
    "another prefix": (
        lambda right: {key.replace("base_model.", "other."): each for key, each in right.items()},
        [(392, f"{PREFIX}.0."), (392, f"{PREFIX}.0.".replace("base_model.", "other."))],
    ),
    "one shape turned": (
        lambda right: {**right, f"{Q0}.lora_A.weight": right[f"{Q0}.lora_A.weight"].T.copy()},
        [(1, f"{Q0}.lora_A.weight"), (8, "4")],
    ),
    "one layer dropped": (
        lambda right: {key: each for key, each in right.items() if f"{PREFIX}.3." not in key},
        [(14, f"{PREFIX}.3.")],
    ),
}


@every_implementation
def test_h4_adapter_names(crew: Crew, name: str, deep: Place, tmp_path: Path) -> None:
    """Each is refused with counts and first names; the correct one loads to the same checksum twice."""
    right: Tensors = load_file(deep.adapter / "adapter_model.safetensors")
    for number, (case, (change, said)) in enumerate(WRONG.items()):
        folder = tmp_path / str(number)
        shutil.copytree(deep.adapter, folder)
        save_file(change(right), folder / "adapter_model.safetensors")
        error = crew.refusal(name, "evaluate", **deep.evaluate_keys(folder))
        words = f"{error.message} {error.where}"
        assert error.status == "checkpoint" and "\n" not in words, (case, words)
        for count, first in said:
            assert re.search(rf"\b{count}\b", words) and first in words, (case, words)
    digest = hashlib.sha256()
    for values in initial_tensors(
        Shape(layers=28, hidden=8, intermediate=12, heads=2, kv_heads=1, head_dim=6), deep.spec.values
    ).values():
        digest.update(values.tobytes())
    seen = [crew.evaluate(name, deep, deep.adapter) for _ in range(2)]
    assert all(isinstance(each, Evaluation) and each.adapter_digest == digest.hexdigest() for each in seen)


@every_implementation
@pytest.mark.parametrize("change", [{"lora_alpha": None}, {"lora_alpha": 9}, {"r": 5}])
def test_f2_rank_and_alpha_are_read(
    crew: Crew, name: str, deep: Place, tmp_path: Path, change: dict[str, int | None]
) -> None:
    """An adapter without alpha, or of another alpha or rank than the specification's, is an error."""
    shutil.copytree(deep.adapter, tmp_path / "adapter")
    file = tmp_path / "adapter" / "adapter_config.json"
    config = {**json.loads(file.read_text("utf-8")), **change}
    file.write_text(json.dumps({key: value for key, value in config.items() if value is not None}), "utf-8")
    error = crew.refusal(name, "evaluate", **deep.evaluate_keys(tmp_path / "adapter"))
    [key] = change
    assert error.status == "checkpoint" and re.search(rf"\b{key}\b", f"{error.message} {error.where}")
