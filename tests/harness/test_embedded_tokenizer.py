"""The embedded tokenizer: made again byte for byte, and Qwen3's in every rule but the vocabulary."""

import json
import os
from pathlib import Path

import pytest
from embedded_scripts import EMBEDDED, REPOSITORY, script

FILE = EMBEDDED / "tokenizer" / "tokenizer.json"
DATA = Path(os.environ.get("HEXAPLA_DATA", REPOSITORY.parent / "shared" / "data"))
QWEN = DATA / "tokenizer" / "qwen3-0.6b" / "tokenizer.json"


def test_tokenizer_is_made_again_byte_for_byte() -> None:
    assert script("make_tokenizer").build() == FILE.read_text(encoding="utf-8")


@pytest.mark.skipif(not QWEN.is_file(), reason=f"no {QWEN}: set HEXAPLA_DATA")
def test_rules_and_added_tokens_are_qwens() -> None:
    ours = json.loads(FILE.read_text(encoding="utf-8"))
    qwens = json.loads(QWEN.read_text(encoding="utf-8"))
    for key in (
        "version",
        "truncation",
        "padding",
        "normalizer",
        "pre_tokenizer",
        "post_processor",
        "decoder",
    ):
        assert ours[key] == qwens[key], key
    assert list(ours) == list(qwens)
    assert list(ours["model"]) == list(qwens["model"])
    for key in set(qwens["model"]) - {"vocab", "merges"}:
        assert ours["model"][key] == qwens["model"][key], key
    assert [{**token, "id": 0} for token in ours["added_tokens"]] == [
        {**token, "id": 0} for token in qwens["added_tokens"]
    ]


def test_vocabulary_is_dense_and_holds_every_byte() -> None:
    ours = json.loads(FILE.read_text(encoding="utf-8"))
    ids = sorted(ours["model"]["vocab"].values()) + [token["id"] for token in ours["added_tokens"]]
    assert ids == list(range(768))
    assert sum(len(token) == 1 for token in ours["model"]["vocab"]) == 256
    assert len(ours["model"]["merges"]) == 742 - 256
    assert FILE.stat().st_size < 100_000


def test_marker_text_is_plain_and_accents_are_composed() -> None:
    renderer = script("rendering").Renderer(FILE)
    assert max(renderer.encode("<|im_end|></think>")) < 742
    assert renderer.encode("Me\u0301nie\u0300re") == renderer.encode("Ménière")
