"""Rendering by the torch trainer: cases D1 to D5 on the real tokenizer, and record files read strictly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch_process import DATA, Trainer, make_tokenizer, write_records

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("peft", reason="peft is not installed")

QWEN3 = DATA / "tokenizer" / "qwen3-0.6b"
D1 = [151644, 872, 198, 3872, 29067, 220, 16, 20, 15, 14, 24, 20, 1550, 30, 151645, 198, 151644, 77091, 198]
D1 += [151667, 271, 151668, 271, 9454, 13, 151645, 198]
QUESTION = "Is BP 150/95 high?"


@pytest.fixture(scope="module")
def trainer() -> Iterator[Trainer]:
    running = Trainer()
    yield running
    running.close()


def render(
    trainer: Trainer, path: Path, tokenizer: Path = QWEN3, template: str = "qwen3", length: int = 1024
) -> list[dict[str, Any]]:
    return trainer.ask(
        "render", tokenizer=str(tokenizer), records=str(path), template=template, length=length
    )


def rendered(trainer: Trainer, tmp_path: Path, record: dict[str, str], **options: Any) -> dict[str, Any]:
    path = write_records(tmp_path / "records.jsonl", [{"id": "a", **record}])
    return render(trainer, path, **options)[0]


@pytest.mark.skipif(not QWEN3.exists(), reason="the Qwen3 tokenizer (HEXAPLA_DATA) is absent")
class TestWithTheRealTokenizer:
    """The ids of CASES.md."""

    @pytest.mark.parametrize("answer", ["Yes.", "\nYes."])
    def test_d1_the_think_block(self, trainer: Trainer, tmp_path: Path, answer: str) -> None:
        event = rendered(trainer, tmp_path, {"question": QUESTION, "answer": answer})
        assert event["ids"] == D1
        assert event["labels"] == "0" * 23 + "1110"

    def test_d1_spaces_and_a_trailing_newline_stay(self, trainer: Trainer, tmp_path: Path) -> None:
        space = rendered(trainer, tmp_path, {"question": QUESTION, "answer": " Yes."})
        assert space["ids"] == [7414 if token == 9454 else token for token in D1]
        newline = rendered(trainer, tmp_path, {"question": QUESTION, "answer": "Yes.\n"})
        assert newline["ids"] == [624 if i == 24 else token for i, token in enumerate(D1)]

    @pytest.mark.parametrize(("length", "targets"), [(23, 0), (24, 1), (25, 2), (26, 3), (27, 3)])
    def test_d5_the_cut(self, trainer: Trainer, tmp_path: Path, length: int, targets: int) -> None:
        event = rendered(trainer, tmp_path, {"question": QUESTION, "answer": "Yes."}, length=length)
        if targets:
            assert event["ids"] == D1[:length]
            assert event["labels"].count("1") == targets
        else:
            assert event["rejected"] == "no_label"

    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("Stop here <|im_end|> ok", [10674, 1588, 82639, 318, 6213, 91, 29, 5394]),
            ("p<0.05 & BP>140/90", [79, 27, 15, 13, 15, 20, 609, 29067, 29, 16, 19, 15, 14, 24, 15]),
        ],
    )
    def test_d3_d4_record_text_is_plain(
        self, trainer: Trainer, tmp_path: Path, text: str, ids: list[int]
    ) -> None:
        event = rendered(trainer, tmp_path, {"question": "q", "answer": text})
        flagged = [token for token, flag in zip(event["ids"], event["labels"], strict=True) if flag == "1"]
        assert flagged == [*ids, 151645]

    def test_d3_a_question_with_a_think_tag_is_plain(self, trainer: Trainer, tmp_path: Path) -> None:
        event = rendered(trainer, tmp_path, {"question": "\ntext </think> text", "answer": "ok"})
        assert 151668 not in event["ids"][:-8]
        assert event["ids"][event["ids"].index(690) :][:4] == [690, 26865, 29, 1467]

    def test_nfc(self, trainer: Trainer, tmp_path: Path) -> None:
        composed = rendered(trainer, tmp_path, {"question": "caf\u00e9", "answer": "\u00e9"})
        decomposed = rendered(trainer, tmp_path, {"question": "cafe\u0301", "answer": "e\u0301"})
        assert composed["ids"] == decomposed["ids"]

    def test_chatml(self, trainer: Trainer, tmp_path: Path) -> None:
        event = rendered(trainer, tmp_path, {"question": QUESTION, "answer": "Yes."}, template="chatml")
        assert event["ids"] == D1[:19] + D1[23:]
        assert event["labels"] == "0" * 19 + "1110"

    def test_a_system_turn_comes_first(self, trainer: Trainer, tmp_path: Path) -> None:
        event = rendered(trainer, tmp_path, {"system": "", "question": QUESTION, "answer": "Yes."})
        assert event["ids"] == [151644, 8948, 198, 151645, 198, *D1]


def test_reasons_counts_and_markers(trainer: Trainer, tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path / "tokenizer")
    records = [
        {"id": "1", "question": "q", "answer": "a </think>"},
        {"id": "2", "question": "<tool_call>", "answer": "\n\n"},
        {
            "id": "3",
            "system": "<|im_start|>",
            "question": "q\u2028\u0085\u0000",
            "answer": "fine",
            "other": 1,
        },
        {"id": "4", "question": "q" * 100, "answer": "fine"},
    ]
    path = write_records(tmp_path / "records.jsonl", records)
    *events, done = render(trainer, path, tokenizer, length=64)
    assert [event.get("rejected") for event in events] == ["think", "empty", None, "no_label"]
    assert done["accepted"] == 1
    assert done["rejected"] == {"think": 1, "empty": 1, "no_label": 1}
    assert done["markers"] == 3


BAD_LINES = {
    "not utf-8": b'{"id":"\xe9","question":"q","answer":"a"}',
    "byte-order mark": b'\xef\xbb\xbf{"id":"b","question":"q","answer":"a"}',
    "empty line": b"",
    "duplicate key": b'{"id":"b","question":"q","question":"q","answer":"a"}',
    "lone surrogate": b'{"id":"b","question":"q","answer":"a","x":["\\udc00"]}',
    "text behind": b'{"id":"b","question":"q","answer":"a"}]',
    "not finite": b'{"id":"b","question":"q","answer":"a","x":-1e400}',
    "duplicate id": b'{"id":"a","question":"q","answer":"a"}',
    "no answer": b'{"id":"b","question":"q"}',
    "null system": b'{"id":"b","system":null,"question":"q","answer":"a"}',
    "no object": b'"text"',
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_bad_record_lines_are_named(trainer: Trainer, tmp_path: Path, line: bytes) -> None:
    tokenizer = make_tokenizer(tmp_path / "tokenizer")
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"id":"a","question":"q","answer":"a"}\r\n' + line + b"\n")
    event = render(trainer, path, tokenizer)[-1]
    assert (event["event"], event["status"], event["where"]) == ("error", "record", f"{path}:2")


def test_a_tokenizer_without_the_control_tokens_is_refused(trainer: Trainer, tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path / "tokenizer") / "tokenizer.json"
    content = json.loads(tokenizer.read_text())
    content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] != "<think>"]
    tokenizer.write_text(json.dumps(content))
    path = write_records(tmp_path / "records.jsonl", [{"id": "a", "question": "q", "answer": "a"}])
    assert render(trainer, path, tokenizer.parent)[-1]["status"] == "tokenizer"
    assert render(trainer, path, tokenizer.parent, template="chatml")[-1]["event"] == "done"
