"""The embedded record files: made again byte for byte, exact counts, and enough rows of every awkward
text.
"""

import json
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from embedded_scripts import EMBEDDED, script

LENGTH = {"tiny": 256, "micro": 64}
FILES = [(size, part) for size in ("tiny", "micro") for part in ("train", "heldout")]
ADDED = json.loads((EMBEDDED / "tokenizer" / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]


def records(size: str, part: str) -> list[dict[str, str]]:
    text = (EMBEDDED / "records" / size / f"{part}.jsonl").read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text[:-1].split("\n")]


def outcomes(size: str, part: str) -> Counter[str]:
    renderer = script("rendering").Renderer(EMBEDDED / "tokenizer" / "tokenizer.json")
    rendered = [renderer.render(record, LENGTH[size]) for record in records(size, part)]
    return Counter(row if isinstance(row, str) else "accepted" for row in rendered)


def test_records_are_made_again_byte_for_byte() -> None:
    corpus = script("corpus")
    for (size, part), rows in corpus.build().items():
        made = corpus.to_lines(rows).encode("utf-8")
        assert made == (EMBEDDED / "records" / size / f"{part}.jsonl").read_bytes(), (size, part)


@pytest.mark.parametrize(
    ("size", "part", "expected"),
    [
        ("tiny", "train", {"accepted": 360, "think": 8, "empty": 8, "joined": 8, "no_label": 8}),
        ("tiny", "heldout", {"accepted": 64, "think": 2, "empty": 2, "joined": 2, "no_label": 2}),
        ("micro", "train", {"accepted": 18, "think": 1, "empty": 1, "no_label": 1}),
        ("micro", "heldout", {"accepted": 6, "think": 1}),
    ],
)
def test_accepted_and_rejected_are_exact(size: str, part: str, expected: dict[str, int]) -> None:
    assert outcomes(size, part) == expected


def test_the_last_update_of_an_epoch_is_short() -> None:
    assert divmod(360, 16) == (22, 8)
    assert divmod(18, 4) == (4, 2)


def test_ids_are_unique_and_no_question_is_in_both_files() -> None:
    for size in LENGTH:
        both = records(size, "train") + records(size, "heldout")
        assert len({row["id"] for row in both}) == len(both)
        assert all(set(row) <= {"id", "system", "question", "answer"} for row in both)
    questions = [{row["question"].strip() for row in records("tiny", part)} for part in ("train", "heldout")]
    assert not questions[0] & questions[1]


def features(row: dict[str, str]) -> set[str]:
    """The awkward text a record holds."""
    question, answer = row["question"], row["answer"]
    text = row.get("system", "") + "|" + question + "|" + answer
    found = {
        "decomposed": unicodedata.normalize("NFC", text) != text,
        "special marker": any(token["content"] in text for token in ADDED if token["special"]),
        "plain marker": any(
            token["content"] in text
            for token in ADDED
            if not token["special"] and token["content"] != "</think>"
        ),
        "think tag in question": "</think>" in question,
        "think tag in answer": "</think>" in answer,
        "escaped characters": all(character in text for character in "&<>\"'"),
        "crlf": "\r\n" in question,
        "newline before question": question.startswith("\n"),
        "newline before answer": answer.startswith("\n") and answer.strip("\n") != "",
        "u2028": "\u2028" in text,
        "u0085": "\u0085" in text,
        "u00a0": "\u00a0" in text,
        "nul": "\x00" in question + answer,
        "astral": any(ord(character) > 0xFFFF for character in text),
        "white space at the ends": question != question.rstrip() and answer[0] == " " and answer[-1] == "\n",
        "system": "system" in row,
        "options": "\nA) " in question or "\r\nA) " in question,
    }
    return {name for name, present in found.items() if present}


def test_tiny_holds_at_least_eight_rows_of_each_awkward_text() -> None:
    counts = Counter(
        name for part in ("train", "heldout") for row in records("tiny", part) for name in features(row)
    )
    wanted = {
        "decomposed",
        "special marker",
        "plain marker",
        "think tag in answer",
        "escaped characters",
        "crlf",
        "newline before question",
        "newline before answer",
        "u2028",
        "u0085",
        "u00a0",
        "system",
        "options",
        "nul",
        "astral",
        "white space at the ends",
    }
    assert {name: count for name, count in counts.items() if count < 8 and name in wanted} == {}
    assert wanted <= set(counts)
    assert counts["think tag in question"] >= 2


def test_tiny_holds_at_least_eight_over_length_rows_of_both_kinds() -> None:
    renderer = script("rendering").Renderer(EMBEDDED / "tokenizer" / "tokenizer.json")
    cut = Counter()
    for part in ("train", "heldout"):
        for row in records("tiny", part):
            whole, kept = renderer.render(row, 1 << 20), renderer.render(row, LENGTH["tiny"])
            if isinstance(whole, str) or len(whole.ids) <= LENGTH["tiny"]:
                continue
            cut["no label" if isinstance(kept, str) else "labels left"] += 1
            if not isinstance(kept, str):
                assert 0 < sum(kept.flags) < sum(whole.flags)
    assert cut["labels left"] >= 8
    assert cut["no label"] >= 8


def test_a_newline_before_the_question_joins_the_roles_newline() -> None:
    """What the fault "role and question encoded apart" would get wrong must be visible in both corpora's
    ids.
    """
    renderer = script("rendering").Renderer(EMBEDDED / "tokenizer" / "tokenizer.json")
    for size in LENGTH:
        rows = [
            row for part in ("train", "heldout") for row in records(size, part) if row["question"][0] == "\n"
        ]
        assert rows
        for row in rows:
            together = renderer.encode("user\n" + row["question"])
            assert together != renderer.encode("user\n") + renderer.encode(row["question"])


def test_micro_holds_awkward_text_in_accepted_rows() -> None:
    counts = Counter(
        name for part in ("train", "heldout") for row in records("micro", part) for name in features(row)
    )
    for name in ("decomposed", "special marker", "plain marker", "escaped characters", "crlf", "u2028"):
        assert counts[name] >= 1, name


def test_the_embedded_default_is_under_five_megabytes() -> None:
    assert sum(file.stat().st_size for file in Path(EMBEDDED).rglob("*") if file.is_file()) < 5_000_000
