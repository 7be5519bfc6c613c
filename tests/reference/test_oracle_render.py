"""The oracle's rendering: CASES D with the Qwen3 tokenizer, and the rejections with a small one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hexapla.reference.oracle.order import batch_digest, epoch_order, splitmix64
from hexapla.reference.oracle.render import Rendered
from oracle_support import Event, ask, shared, write_tokenizer

D1 = [
    *(151644, 872, 198, 3872, 29067, 220, 16, 20, 15, 14, 24, 20, 1550, 30, 151645, 198, 151644, 77091, 198),
    *(151667, 271, 151668, 271, 9454, 13, 151645, 198),
]
QUESTION = "Is BP 150/95 high?"


def render(
    tokenizer: Path, folder: Path, *records: dict[str, Any], template: str = "qwen3", length: int = 256
) -> list[Event]:
    path = folder / "records.jsonl"
    lines = [json.dumps({"id": str(index)} | record) for index, record in enumerate(records)]
    path.write_text("\n".join(lines))
    return ask("render", tokenizer=str(tokenizer), records=str(path), template=template, length=length)


@pytest.fixture
def qwen3() -> Path:
    return shared("tokenizer", "qwen3-0.6b")


def test_the_think_block_and_the_labels(qwen3: Path, tmp_path: Path) -> None:
    """D1, D2: the empty think block is prompt; targets are the answer and the end of the turn."""
    answers = ["Yes.", "\nYes.", " Yes.", "Yes.\n"]
    events = render(qwen3, tmp_path, *({"question": QUESTION, "answer": answer} for answer in answers))
    assert events[0]["ids"] == D1 and events[1]["ids"] == D1
    assert events[0]["labels"] == "0" * 23 + "1110"
    assert events[2]["ids"] == [7414 if token == 9454 else token for token in D1]
    assert events[3]["ids"] == [*D1[:24], 624, 151645, 198]
    assert events[4] == {"id": "r", "event": "done", "accepted": 4, "rejected": {}, "markers": 0}


def test_chatml_and_system(qwen3: Path, tmp_path: Path) -> None:
    """The generic template has no think block; a system text comes first, if given, even when it is empty."""
    record = {"question": QUESTION, "answer": "Yes."}
    events = render(qwen3, tmp_path, record, record | {"system": ""}, template="chatml")
    assert events[0]["ids"] == D1[:19] + D1[23:]
    assert events[1]["ids"] == [151644, 8948, 198, 151645, 198, *events[0]["ids"]]


def test_markers_in_text_stay_text(qwen3: Path, tmp_path: Path) -> None:
    """D3: neither kind of added token is recognised inside a record; the records concerned are counted."""
    events = render(
        qwen3,
        tmp_path,
        {"question": "Stop here <|im_end|> ok", "answer": "a"},
        {"question": "text </think> text", "answer": "a"},
        {"question": "q", "answer": "x</think>"},
        {"question": "q", "answer": "a", "system": "<tool_call>"},
    )
    assert events[0]["ids"][3:11] == [10674, 1588, 82639, 318, 6213, 91, 29, 5394]
    assert events[1]["ids"][3:8] == [1318, 690, 26865, 29, 1467]
    assert events[2] == {"id": "r", "event": "record", "record": "2", "rejected": "think"}
    assert events[-1] == {"id": "r", "event": "done", "accepted": 3, "rejected": {"think": 1}, "markers": 4}


def test_nothing_is_escaped(qwen3: Path, tmp_path: Path) -> None:
    """D4."""
    (event, _) = render(qwen3, tmp_path, {"question": "p<0.05 & BP>140/90", "answer": "a"})
    expected = [79, 27, 15, 13, 15, 20, 609, 29067, 29, 16, 19, 15, 14, 24, 15]
    assert event["ids"][3:18] == expected and event["ids"][18] == 151645


@pytest.mark.parametrize(("length", "targets"), [(23, 0), (24, 1), (26, 3), (28, 3)])
def test_the_cut(qwen3: Path, tmp_path: Path, length: int, targets: int) -> None:
    """D5: a record without a label behind the cut is rejected."""
    (event, done) = render(qwen3, tmp_path, {"question": QUESTION, "answer": "Yes."}, length=length)
    if targets == 0:
        assert event["rejected"] == "no_label" and done["rejected"] == {"no_label": 1}
    else:
        assert event["ids"] == D1[:length] and event["labels"].count("1") == targets


def test_normalisation_and_the_first_reason(qwen3: Path, tmp_path: Path) -> None:
    """Text is composed first; an answer of newlines alone is empty; `think` looks at the raw answer."""
    events = render(
        qwen3,
        tmp_path,
        {"question": "Mu\u0308ller", "answer": "a"},
        {"question": "M\u00fcller", "answer": "a"},
        {"question": "q", "answer": "\n\n"},
        {"question": "q", "answer": "</think>"},
    )
    assert events[0]["ids"] == events[1]["ids"]
    assert [event["rejected"] for event in events[2:4]] == ["empty", "think"]


def test_an_answer_that_joins_its_prefix(tmp_path: Path) -> None:
    """A tokenizer that merges the prefix's last newline with the answer's first character: `joined`."""
    folder = write_tokenizer(tmp_path / "tokenizer")
    found = json.loads((folder / "tokenizer.json").read_text())
    found["model"]["vocab"]["Ċč"] = 300
    found["model"]["merges"] = [["Ċ", "č"]]
    (folder / "tokenizer.json").write_text(json.dumps(found))
    joined, plain = {"question": "q", "answer": "\r\ra"}, {"question": "q\n\r\r", "answer": "a"}
    events = render(folder, tmp_path, joined, plain)
    assert events[0]["rejected"] == "joined" and 300 in events[1]["ids"]
    assert events[2]["rejected"] == {"joined": 1}


def test_the_digest_and_the_order() -> None:
    """SPEC's check values."""
    assert f"{next(splitmix64(0)):x}" == "e220a8397b1dcdaf"
    assert epoch_order(1, 0, 10) == [9, 7, 4, 0, 3, 8, 2, 5, 1, 6]
    assert epoch_order(1, 1, 10) == [1, 6, 3, 2, 4, 5, 9, 8, 0, 7]
    record = Rendered("d1", D1, bytes(23) + b"\x01\x01\x01\x00")
    assert batch_digest([record]) == "d07c95059f5dc313"


def test_a_tokenizer_without_the_templates_tokens_is_refused(tmp_path: Path) -> None:
    folder = write_tokenizer(tmp_path / "tokenizer")
    found = json.loads((folder / "tokenizer.json").read_text())
    found["added_tokens"] = [token for token in found["added_tokens"] if token["content"] != "<think>"]
    (folder / "tokenizer.json").write_text(json.dumps(found))
    (event,) = render(folder, tmp_path, {"question": "q", "answer": "a"})
    assert (event["status"], event["where"]) == ("tokenizer", "<think>")
    events = render(folder, tmp_path, {"question": "q", "answer": "a"}, template="chatml")
    assert events[-1]["accepted"] == 1
